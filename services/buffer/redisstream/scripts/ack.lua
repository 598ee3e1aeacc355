-- ARGV from 4: token, end (1), number of entries, then triples of entry, bytes and event id.
-- Answers false when the lease is lost; else entries removed, due in ms (-1: not), over, bytes left.
local token, ending, count = ARGV[4], ARGV[5] == '1', tonumber(ARGV[6])
if not held(token) then return false end
local removed = remove(7, count)
local m = redis.call('HMGET', meta, 'over', 'bytes', 'leased')
local over, bytes = tonumber(m[1]) or 0, tonumber(m[2]) or 0
if removed > 0 then redis.call('HDEL', meta, 'lost', 'alone', 'cap') end
local wait = -1
if ending then
  redis.call('ZREM', run, project)
  if (tonumber(m[3]) or 0) > 0 then -- what the worker chose to leave waits like new events do
    redis.call('HSETNX', meta, 'first', text(now))
    redis.call('HSETNX', meta, 'last', text(now))
  end
  redis.call('HSET', meta, 'leased', 0)
  wait = schedule()
end
return {removed, wait, over, bytes}
