-- Makes everything that waits due now, or right after the running lease. Answers the number of events that wait, and due in ms.
local leased = redis.call('ZSCORE', run, project) and tonumber(redis.call('HGET', meta, 'leased')) or 0
local waiting = redis.call('XLEN', stream) - leased
if waiting <= 0 then return {0, -1} end
redis.call('HDEL', meta, 'not_before')
for _, group in ipairs(redis.call('ZRANGE', groups, 0, -1)) do redis.call('ZADD', groups, 0, group) end
redis.call('HSET', meta, 'force', text(now), 'force_by', 'asked')
return {waiting, schedule()}
