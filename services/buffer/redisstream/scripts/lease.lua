-- ARGV from 4: how long in ms, most events, most bytes, floor of the token.
-- Answers false when the project is not due or has a lease; else token, expiry (ms), due_by, whether the group had to be made anew, leases
-- that expired in a row with this one entry alone, then entry, event id and payload of each event.
local duration, most, most_bytes, floor = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local at = tonumber(redis.call('ZSCORE', due, project))
if not at or at > now or redis.call('ZSCORE', run, project) then return false end

local m = redis.call('HMGET', meta, 'token', 'due_by', 'not_before', 'cap', 'alone')
local cap = tonumber(m[4])
if cap then most = math.min(most, cap) end
local suspected = redis.call('ZCARD', suspects)
local batch, size, full, regrouped = {}, 0, false, 0

local function add(entry, fields)
  local payload = fields[4]
  if size > 0 and size + #payload > most_bytes then
    full = true
    return
  end
  size = size + #payload
  batch[#batch + 1] = entry
  batch[#batch + 1] = fields[2]
  batch[#batch + 1] = payload
end

local function more() return not full and #batch < 3 * most end

local function read(cursor)
  local want = math.min(64, most - #batch / 3)
  local reply = redis.pcall('XREADGROUP', 'GROUP', GROUP, CONSUMER, 'COUNT', want, 'STREAMS', stream, cursor)
  if reply and reply.err and string.find(reply.err, 'NOGROUP', 1, true) then
    redis.call('XGROUP', 'CREATE', stream, GROUP, '0', 'MKSTREAM')
    regrouped = 1
    reply = redis.call('XREADGROUP', 'GROUP', GROUP, CONSUMER, 'COUNT', want, 'STREAMS', stream, cursor)
  end
  return reply and reply[1] and reply[1][2] or {}
end

-- take reads what an earlier lease left ('0'), or what no lease has had ('>').
local function take(cursor)
  while more() do
    local entries = read(cursor)
    if #entries == 0 then return end
    for _, entry in ipairs(entries) do
      if cursor ~= '>' then cursor = entry[1] end
      if not entry[2] then
        redis.call('XACK', stream, GROUP, entry[1])
      elseif more() and (suspected == 0 or not redis.call('ZSCORE', suspects, entry[1])) then
        add(entry[1], entry[2])
      end
    end
  end
end

local function take_group(group)
  for _, entry in ipairs(redis.call('ZRANGE', suspects, group, group, 'BYSCORE')) do
    if not more() then return end
    local found = redis.call('XRANGE', stream, entry, entry)
    if found[1] then
      add(entry, found[1][2])
    else
      redis.call('ZREM', suspects, entry)
    end
  end
end

local by = m[2] or 'age'
local group_at, group = suspects_due(tonumber(m[3]) or 0)
if group_at and group_at <= now then
  by = 'retry'
  take_group(group)
else
  take('0')
  take('>')
end
if #batch == 0 then
  if redis.call('XLEN', stream) > suspected then
    redis.call('XGROUP', 'SETID', stream, GROUP, '0') -- entries that are neither new nor pending: hand them out again
  end
  schedule()
  return false
end

local count = #batch / 3
local token = text(math.max((tonumber(m[1]) or 0) + 1, micros, floor + 1))
local expiry = text(now + duration)
redis.call('HSET', meta, 'token', token, 'leased', text(count))
redis.call('ZREM', due, project)
redis.call('ZADD', run, expiry, project)
if by ~= 'retry' or not group_at or group_at > now then
  if redis.call('XLEN', stream) - suspected > count then
    redis.call('HSET', meta, 'force', text(now), 'force_by', by) -- the rest of what was due stays due
  else
    redis.call('HDEL', meta, 'first', 'last', 'fresh', 'force', 'force_by', 'not_before')
  end
end
local alone = count == 1 and tonumber(m[5]) or 0
return {token, expiry, by, regrouped, alone, batch}
