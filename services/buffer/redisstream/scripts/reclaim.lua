-- Ends a lease that is over and makes its events due at once. A batch that took several workers with it is cut to half each time.
-- Answers false when the lease is not over; else token, due in ms and the events that are pending again.
local expiry = tonumber(redis.call('ZSCORE', run, project))
if not expiry or expiry > now then return false end
redis.call('ZREM', run, project)
local m = redis.call('HMGET', meta, 'token', 'leased')
local leased = tonumber(m[2]) or 0
if leased > 0 and redis.call('HINCRBY', meta, 'lost', 1) > 1 then
  redis.call('HSET', meta, 'cap', text(math.max(1, math.floor(leased / 2))))
end
if leased == 1 then redis.call('HINCRBY', meta, 'alone', 1) end
if redis.call('XLEN', stream) > 0 then
  redis.call('HSET', meta, 'leased', 0)
  force(now, 'retry')
end
local events = unacknowledged()
return {m[1] or '0', schedule(), events}
