-- What every script of a project begins with: its keys, its clock, and the one rule by which it becomes due.
--
-- Fields of meta: first, last (when the oldest and newest waiting event came, ms), fresh (bytes that wait for their first lease), bytes (all
-- bytes in the stream), force, force_by (due at this time, for this reason, whatever else holds), not_before, token (of the last lease), leased
-- (entries of the running lease that are not acknowledged), over (the ceiling was reached: Postgres has more), group (number of the last group of
-- suspects), due_by, lost, alone, cap (leases that expired in a row, those of a single entry, and the size that batches are cut to since).
--
-- suspects: entry -> group; groups: group -> not before. A group is tried apart from all other entries.
local stream, meta, index, suspects, groups, due, run = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local project, idle, age = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local GROUP, CONSUMER = 'extraction', 'lease'

local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

local function text(number) return string.format('%.0f', number) end

local function forget()
  redis.call('DEL', stream, meta, index, suspects, groups)
  redis.call('ZREM', due, project)
  redis.call('ZREM', run, project)
end

-- force makes the project due at a time, unless it is due earlier already.
local function force(at, by)
  local before = tonumber(redis.call('HGET', meta, 'force'))
  if not before or at < before then
    redis.call('HSET', meta, 'force', text(at), 'force_by', by)
  end
end

local function normal_due(m)
  local first = tonumber(m[1]) or now
  local last = tonumber(m[2]) or now
  local forced, not_before = tonumber(m[3]), tonumber(m[5]) or 0
  local at, by = first + age, 'age'
  if last + idle < at then at, by = last + idle, 'idle' end
  if forced and forced < at then at, by = forced, m[4] end
  return math.max(at, not_before), by
end

-- suspects_due is when the next group of suspects may be tried. Groups that were emptied meanwhile are dropped on the way.
local function suspects_due(not_before)
  while true do
    local head = redis.call('ZRANGE', groups, 0, 0, 'WITHSCORES')
    if not head[1] then return nil end
    if redis.call('ZCOUNT', suspects, head[1], head[1]) > 0 then
      return math.max(tonumber(head[2]), not_before), head[1]
    end
    redis.call('ZREM', groups, head[1])
  end
end

-- schedule sets when the project is due next and answers in how many milliseconds that is, or -1 when nothing is: a lease is running, or
-- no event waits.
local function schedule()
  if redis.call('ZSCORE', run, project) then return -1 end
  local length = redis.call('XLEN', stream)
  if length == 0 then
    forget()
    return -1
  end
  local m = redis.call('HMGET', meta, 'first', 'last', 'force', 'force_by', 'not_before')
  local suspected = redis.call('ZCARD', suspects)
  local at, by
  if length > suspected then at, by = normal_due(m) end
  if suspected > 0 then
    local then_at = suspects_due(tonumber(m[5]) or 0)
    if then_at and (not at or then_at < at) then at, by = then_at, 'retry' end
  end
  if not at then -- suspects without a group: events like others again
    redis.call('DEL', suspects, groups)
    at, by = normal_due(m)
  end
  redis.call('ZADD', due, text(at), project)
  redis.call('HSET', meta, 'due_by', by)
  return math.max(0, at - now)
end

-- held tells whether the token's lease is running and not over.
local function held(token)
  local expiry = tonumber(redis.call('ZSCORE', run, project))
  return expiry and expiry > now and redis.call('HGET', meta, 'token') == token
end

-- remove deletes entries given as ARGV triples (entry, bytes, event id) from position at on, and answers how many were there.
local function remove(at, count)
  if count == 0 then return 0 end
  local suspected = redis.call('ZCARD', suspects) > 0
  local entries, events, removed, bytes = {}, {}, 0, 0
  for i = 0, count - 1 do
    local entry = ARGV[at + 3 * i]
    entries[#entries + 1] = entry
    events[#events + 1] = ARGV[at + 3 * i + 2]
    if redis.call('XDEL', stream, entry) == 1 then
      removed = removed + 1
      bytes = bytes + tonumber(ARGV[at + 3 * i + 1])
    end
  end
  redis.pcall('XACK', stream, GROUP, unpack(entries)) -- a destroyed group is made anew by the next lease
  redis.call('SREM', index, unpack(events))
  if suspected then redis.call('ZREM', suspects, unpack(entries)) end
  redis.call('HINCRBY', meta, 'bytes', text(0 - bytes))
  redis.call('HINCRBY', meta, 'leased', text(0 - removed))
  return removed
end

-- unacknowledged lists the event ids of entries that a lease handed out and nobody acknowledged.
local function unacknowledged()
  local pending = redis.pcall('XPENDING', stream, GROUP, '-', '+', 4096)
  local events = {}
  if pending.err then return events end
  for _, p in ipairs(pending) do
    local found = redis.call('XRANGE', stream, p[1], p[1])
    if found[1] then events[#events + 1] = found[1][2][2] end
  end
  return events
end
