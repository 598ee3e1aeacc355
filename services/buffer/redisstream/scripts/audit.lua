-- Compares the index of event ids with the stream. Where they disagree, somebody deleted one of them: the project is forgotten, to be fed
-- again from Postgres. Answers how many events were forgotten; 0 when all is well.
local length, indexed = redis.call('XLEN', stream), redis.call('SCARD', index)
if length == indexed then
  if length > 0 then schedule() end
  return 0
end
forget()
return math.max(length, indexed)
