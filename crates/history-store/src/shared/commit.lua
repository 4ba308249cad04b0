-- Changes the messages of a key if no other program has changed them since they were read.
-- KEYS: the state of the key, and its messages.
-- ARGV: the version and the writer of the state that was read, the writer of this change, the
-- number of oldest messages to remove, their newest time if it is to be kept, the number of writers
-- to remember, and for each inserted message: its seconds, its nanoseconds in 9 digits, its text.
-- Returns 1 if the change is made, also by an earlier call with the same writer. Returns 0 if it
-- is not made, and -1 if an earlier call may have made it.
local version = redis.call('HGET', KEYS[1], 'version') or '0'
local read, writer = ARGV[1], ARGV[3]
local next_version = string.format('%.0f', tonumber(read) + 1)
-- Fails before the first change if another program has put something else here.
redis.call('ZCARD', KEYS[2])
if version ~= read or (redis.call('HGET', KEYS[1], 'writer ' .. version) or '') ~= ARGV[2] then
  local found = redis.call('HGET', KEYS[1], 'writer ' .. next_version)
  if found == writer then
    return 1
  elseif not found and tonumber(version) > tonumber(read) then
    return -1
  end
  return 0
end
local arrival = tonumber(redis.call('HGET', KEYS[1], 'arrival') or '0')
for at = 7, #ARGV, 3 do
  local place = ARGV[at + 1] .. string.format('%016.0f', arrival)
  redis.call('ZADD', KEYS[2], ARGV[at], place .. ARGV[at + 2])
  arrival = arrival + 1
end
local removed = tonumber(ARGV[4])
if removed > 0 then
  redis.call('ZREMRANGEBYRANK', KEYS[2], 0, removed - 1)
end
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[1], 'dropped', ARGV[5])
end
redis.call('HSET', KEYS[1], 'version', next_version, 'writer ' .. next_version, writer,
  'arrival', string.format('%.0f', arrival))
redis.call('HDEL', KEYS[1], 'writer ' .. string.format('%.0f', tonumber(next_version) - tonumber(ARGV[6])))
return 1
