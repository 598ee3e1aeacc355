-- ARGV from 4: token, floor. Gives a running lease a token above the floor. Answers false when the lease is lost, else the token.
if not held(ARGV[4]) then return false end
local token = text(tonumber(ARGV[5]) + 1)
redis.call('HSET', meta, 'token', token)
return token
