-- Creates a history unless it exists.
-- KEYS: the settings of the history, and the names of all histories.
-- ARGV: the name, the format, and a new key of the hashes; without the key, creates nothing.
-- Returns the format and the key of the hashes, both empty if there is no such history.
-- An existing history is only read, so that a replica, or a server without free memory, can open it.
if redis.call('HLEN', KEYS[1]) == 0 and ARGV[3] ~= '' then
  redis.call('HSET', KEYS[1], 'format', ARGV[2], 'hash_key', ARGV[3])
  redis.call('SADD', KEYS[2], ARGV[1])
end
return {redis.call('HGET', KEYS[1], 'format') or '', redis.call('HGET', KEYS[1], 'hash_key') or ''}
