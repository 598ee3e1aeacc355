-- ARGV from 4: token, not before (ms; 0: at once), number of dead and of blamed entries, then their triples, the dead first.
-- The dead are removed. The blamed are tried again apart from the others, in two halves when there are several, so that a bad entry stands
-- alone after a few rounds. With nobody to blame the project as a whole waits. Answers false when the lease is lost; else due in ms and
-- the events that are pending again.
local token, not_before = ARGV[4], tonumber(ARGV[5])
local dead, blamed = tonumber(ARGV[6]), tonumber(ARGV[7])
if not held(token) then return false end
remove(8, dead)

local at = 8 + 3 * dead
local function suspect(from, to)
  local group = redis.call('HINCRBY', meta, 'group', 1)
  for i = from, to do redis.call('ZADD', suspects, group, ARGV[at + 3 * i]) end
  redis.call('ZADD', groups, text(math.max(not_before, now)), group) -- behind groups that wait already
end
if blamed == 1 then
  suspect(0, 0)
elseif blamed > 1 then
  local half = math.floor(blamed / 2)
  suspect(0, half - 1)
  suspect(half, blamed - 1)
end
if blamed == 0 and dead == 0 then
  redis.call('HSET', meta, 'not_before', text(not_before))
end
redis.call('HDEL', meta, 'lost', 'alone', 'cap')
redis.call('HSET', meta, 'leased', 0)
redis.call('ZREM', run, project)
if redis.call('XLEN', stream) > redis.call('ZCARD', suspects) then force(now, 'retry') end
local events = unacknowledged()
return {schedule(), events}
