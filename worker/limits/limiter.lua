-- The Lua script behind the shared limits; each call from a worker is one atomic step in Redis.
--
-- Grants are counted in one-second buckets, and no grant may put more than the limit into any 60 seconds, give or take
-- the delay between the grant and the endpoint (SLACK). A call's tokens are booked until it ends: at first its maximum,
-- and once ENOUGH calls have ended, the largest share of the maximum that recent calls used. A call that has to wait
-- gets its own future slot. Slots are spaced by a call's cost, so that the whole limit is used and calls rarely come
-- too early. Slots are at most HORIZON ahead, so that cancelled calls waste little. All keys expire.
--
-- A Redis that lost its data has no `started` mark. In its first minute the buckets start as if the limit had just been
-- used up evenly, so that the grants before and after the loss together stay within the limit. A worker that knows an
-- older mark shows that Redis has forgotten calls in flight: then all concurrent slots start as taken by `lost`
-- members, and each call that ends without a slot of its own frees one of them.

local SPAN, SLACK, BUCKET, HORIZON, SHIFT = 60000, 1500, 1000, 30000, 2000
local KEEP, KEEP_MARK = 600000, 86400000
local ENOUGH, FORGETS = 20, 0.995
local USUAL_RATIO = 0.1  -- the assumed share of reserved tokens that a call uses, until the first calls have ended
local REACH = SPAN + SLACK + BUCKET
local state, queue, held, adaptive, started = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local op, now, id, mark = ARGV[1], tonumber(ARGV[2]), ARGV[3], ''
if now < 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local function keep(key, least)
  if redis.call('PTTL', key) < least then redis.call('PEXPIRE', key, math.ceil(least)) end
end

local function seed(kind, limit)
  local count = math.ceil(REACH / BUCKET)
  local newest = math.floor((now + SHIFT) / BUCKET)
  for i = 0, count - 1 do
    local amount = math.floor(limit * (i + 1) / count) - math.floor(limit * i / count)
    if amount > 0 then redis.call('HSET', state, kind .. (newest - i), amount) end
  end
end

-- Returns the buckets that still count and the other numbers; deletes older buckets.
local function load()
  local flat = redis.call('HGETALL', state)
  local buckets, numbers, stale = {r = {}, t = {}}, {}, {}
  local oldest = math.floor((now - REACH) / BUCKET) + 1
  for i = 1, #flat, 2 do
    local kind, second = string.match(flat[i], '^([rt])(%d+)$')
    if kind == nil then numbers[flat[i]] = tonumber(flat[i + 1])
    elseif tonumber(second) < oldest then stale[#stale + 1] = flat[i]
    else buckets[kind][tonumber(second)] = tonumber(flat[i + 1]) end
  end
  if #stale > 0 then redis.call('HDEL', state, unpack(stale)) end
  return buckets, numbers
end

-- Returns 0 if `cost` fits now, otherwise the time at which enough will have left the window.
local function fits_at(bucket, limit, cost)
  local used, seconds = 0, {}
  for second, amount in pairs(bucket) do
    used = used + amount
    seconds[#seconds + 1] = second
  end
  if used + cost <= limit then return 0 end
  table.sort(seconds)
  for _, second in ipairs(seconds) do
    used = used - bucket[second]
    if used + cost <= limit then return second * BUCKET + REACH end
  end
  return now + BUCKET
end

local function adaptive_cap()
  local found = redis.call('HMGET', adaptive, 'cap', 'at')
  if not found[1] then return nil end
  return tonumber(found[1]) * 2 ^ ((now - tonumber(found[2])) / SPAN)
end

-- Sets the mark at the first call; a state created soon after the mark starts as if the limit had just been used up.
local function begin(per_min, tokens_per_min, concurrent, hold, known)
  local since = redis.call('GET', started)
  if not since then
    since = string.format('%d', now)
    redis.call('SET', started, since, 'PX', KEEP_MARK)
  end
  keep(started, KEEP_MARK)
  if redis.call('EXISTS', state) == 0 and now - tonumber(since) < REACH then
    seed('r', per_min)
    seed('t', tokens_per_min)
    redis.call('HSET', state, 'next', now + SHIFT)
  end
  if known ~= '' and known ~= since and redis.call('HSETNX', state, 'lost', since) == 1 then
    for i = 1, concurrent do redis.call('ZADD', held, now + hold * i / concurrent, 'lost:' .. i) end
    keep(held, hold + SPAN)
  end
  return since
end

-- Frees one of the slots held for forgotten calls, when such a call has ended.
local function free_lost()
  for _, member in ipairs(redis.call('ZRANGE', held, 0, -1)) do
    if string.sub(member, 1, 5) == 'lost:' then return redis.call('ZREM', held, member) end
  end
end

-- Returns the spacing of such calls, in ms. Calls waiting for a concurrent slot ask twice as often as one is freed.
local function spacing(numbers, tokens, per_min, tokens_per_min, concurrent)
  local cost, cap = 0, adaptive_cap()
  if per_min > 0 then cost = REACH / per_min end
  if cap then cost = math.max(cost, SPAN / cap) end
  if tokens_per_min > 0 then cost = math.max(cost, REACH * tokens * (numbers.ratio or USUAL_RATIO) / tokens_per_min) end
  if concurrent > 0 then cost = math.max(cost, 0.5 * (numbers.hold or 200) / concurrent) end
  return cost
end

local function wait_for(slot, next_slot)
  redis.call('HSET', state, 'next', next_slot)
  redis.call('ZADD', queue, slot, id)
  keep(state, KEEP + next_slot - now)
  keep(queue, KEEP + next_slot - now)
  return {0, math.ceil(slot - now), 0, now}
end

local function take_concurrent(concurrent, hold)
  redis.call('ZREMRANGEBYSCORE', held, '-inf', now)
  if redis.call('ZCARD', held) >= concurrent and not redis.call('ZSCORE', held, id) then return false end
  redis.call('ZADD', held, now + hold, id)
  keep(held, hold + SPAN)
  return true
end

local function to_book(numbers, tokens)
  if (numbers.seen or 0) < ENOUGH then return tokens end
  return math.min(tokens, math.ceil(tokens * numbers.peak))
end

local function grant(per_min, tokens_per_min, tokens)
  local second = math.floor(now / BUCKET)
  if per_min > 0 then redis.call('HINCRBY', state, 'r' .. second, 1) end
  if tokens_per_min > 0 then redis.call('HINCRBY', state, 't' .. second, math.ceil(tokens)) end
  redis.call('ZREM', queue, id)
  keep(state, KEEP)
  return {1, 0, second, now, '', math.ceil(tokens)}
end

local function acquire()
  local per_min, tokens_per_min, concurrent = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
  local tokens, hold, dice = math.min(tonumber(ARGV[4]), tokens_per_min), tonumber(ARGV[8]), tonumber(ARGV[9])
  mark = begin(per_min, tokens_per_min, concurrent, hold, ARGV[10])
  local buckets, numbers = load()
  local cost = spacing(numbers, tokens, per_min, tokens_per_min, concurrent)
  local next_slot = numbers.next or 0

  redis.call('ZREMRANGEBYSCORE', queue, '-inf', now - 2 * SPAN)
  local slot = tonumber(redis.call('ZSCORE', queue, id) or nil)
  if slot == nil then
    slot = math.max(next_slot, now - cost) + cost
    if slot > now + HORIZON and redis.call('ZCARD', queue) > 0 then
      return {0, math.ceil(HORIZON * (0.5 + dice / 2)), 0, now}
    end
    next_slot = slot
    redis.call('HSET', state, 'next', next_slot)
  end
  if slot > now then return wait_for(slot, next_slot) end

  local room, booked = 0, to_book(numbers, tokens)
  if per_min > 0 then room = fits_at(buckets.r, per_min, 1) end
  if tokens_per_min > 0 then room = math.max(room, fits_at(buckets.t, tokens_per_min, booked)) end
  local behind = math.max(next_slot, now) + math.max(cost, 20)
  if room > now + cost then return wait_for(math.max(room, behind), math.max(room, behind)) end
  if room > 0 then return wait_for(room, next_slot) end  -- others were late: a short wait, so the place is kept
  if concurrent > 0 and not take_concurrent(concurrent, hold) then return wait_for(behind, behind) end
  return grant(per_min, tokens_per_min, booked)
end

local function smooth(name, value)
  local old = tonumber(redis.call('HGET', state, name) or nil)
  redis.call('HSET', state, name, old and old * 0.8 + value * 0.2 or value)
end

-- Frees the slot of an ended call and replaces its booked tokens by what it used (-1: unknown).
local function settle()
  local second, booked, used, granted = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
  local most = tonumber(ARGV[8])
  if redis.call('ZREM', held, id) == 0 then free_lost() end
  if redis.call('EXISTS', state) == 0 then return {1, 0, 0, now} end
  smooth('hold', math.max(now - granted, 1))
  if used >= 0 and most > 0 then
    local share = math.min(used / most, 1)
    smooth('ratio', share)
    redis.call('HSET', state, 'peak', math.max(share, FORGETS * (redis.call('HGET', state, 'peak') or 0)))
    redis.call('HINCRBY', state, 'seen', 1)
    local field = 't' .. second
    if redis.call('HEXISTS', state, field) == 1 then redis.call('HINCRBY', state, field, used - booked) end
  end
  return {1, 0, 0, now}
end

-- Halves the adaptive rate, but only once in `calm` ms, since one overload refuses many calls at a time.
local function penalise()
  local recent, calm = tonumber(ARGV[4]), tonumber(ARGV[5])
  local found = redis.call('HMGET', adaptive, 'at', 'ceiling')
  if found[1] and now - tonumber(found[1]) < calm then
    return {0, redis.call('PTTL', adaptive), math.ceil(adaptive_cap()), now}
  end
  local rate = math.max(math.min(adaptive_cap() or recent, recent), 2)
  local ceiling = math.max(tonumber(found[2] or 0), 2 * rate)
  local cap = rate / 2
  local lasts = SPAN * math.log(ceiling / cap) / math.log(2)
  redis.call('HSET', adaptive, 'cap', cap, 'at', now, 'ceiling', ceiling)
  redis.call('PEXPIRE', adaptive, math.ceil(lasts))
  return {1, math.ceil(lasts), math.ceil(cap), now}
end

local answer = ({acquire = acquire, settle = settle, penalise = penalise})[op]()
answer[5] = mark
return answer
