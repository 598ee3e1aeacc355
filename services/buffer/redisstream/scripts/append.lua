-- ARGV from 4: bytes that make due, ceiling in bytes, feed (1: from Postgres, goes on while over), force delay in ms (-1: none) and its
-- reason, when the first and the last event came (ms; 0: now), then pairs of event id and payload.
-- Answers: events that are now held, overflow, due in ms.
local due_bytes, ceiling, feeding = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1'
local delay, reason = tonumber(ARGV[7]), ARGV[8]
local first, last = tonumber(ARGV[9]), tonumber(ARGV[10])
if first == 0 or first > now then first = now end
if last == 0 or last > now then last = now end

local m = redis.call('HMGET', meta, 'bytes', 'over', 'first', 'last', 'fresh')
local bytes, over = tonumber(m[1]) or 0, m[2] == '1'
if over and not feeding then return {0, 1, -1} end

local ids = {}
for i = 11, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local present = redis.call('SMISMEMBER', index, unpack(ids))

if redis.call('EXISTS', stream) == 0 then
  redis.call('XGROUP', 'CREATE', stream, GROUP, '0', 'MKSTREAM')
end
local holds, added, new = 0, 0, {}
over = false
for i, id in ipairs(ids) do
  if present[i] == 1 or new[id] then
    holds = holds + 1
  elseif bytes >= ceiling then
    over = true
    break
  else
    local payload = ARGV[10 + 2 * i]
    redis.call('XADD', stream, '*', 'i', id, 'e', payload)
    new[id] = true
    new[#new + 1] = id
    bytes = bytes + #payload
    added = added + #payload
    holds = holds + 1
  end
end
if #new > 0 then
  redis.call('SADD', index, unpack(new))
  local fresh = (tonumber(m[5]) or 0) + added
  redis.call('HSET', meta, 'bytes', text(bytes), 'fresh', text(fresh),
    'first', text(math.min(tonumber(m[3]) or first, first)), 'last', text(math.max(tonumber(m[4]) or last, last)))
  if fresh >= due_bytes then force(now, 'bytes') end
  if delay >= 0 then force(now + delay, reason) end
end
if over then redis.call('HSET', meta, 'over', '1') end
return {holds, over and 1 or 0, schedule()}
