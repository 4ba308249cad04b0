-- Reads the messages of a key, oldest first. Returns no messages if the caller already has this
-- state of the key.
-- KEYS: the state of the key, and its messages. ARGV: the stamp of the state that the caller has.
-- Returns the stamp, the time of the newest message that was removed early, whether the caller has
-- another state, and the messages.
local version = redis.call('HGET', KEYS[1], 'version') or '0'
local stamp = version .. ' ' .. (redis.call('HGET', KEYS[1], 'writer ' .. version) or '')
local dropped = redis.call('HGET', KEYS[1], 'dropped') or ''
if stamp == ARGV[1] then
  return {stamp, dropped, 0, {}}
end
return {stamp, dropped, 1, redis.call('ZRANGE', KEYS[2], 0, -1)}
