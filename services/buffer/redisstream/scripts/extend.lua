-- ARGV from 4: token, how long from now in ms. Answers false when the lease is lost, else the expiry (ms).
if not held(ARGV[4]) then return false end
local expiry = text(now + tonumber(ARGV[5]))
redis.call('ZADD', run, 'XX', expiry, project)
return expiry
