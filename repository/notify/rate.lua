-- So many a minute: a bucket that fills evenly and holds a minute's worth, so that a few at once may go at once.

local rate = {}

-- `now` is seconds with fractions, on a clock that only moves forward.
function rate.new(perMinute, now)
  return { perMinute = perMinute, left = perMinute, at = now }
end

local function fill(bucket, now)
  bucket.left = math.min(bucket.perMinute, bucket.left + (now - bucket.at) * bucket.perMinute / 60)
  bucket.at = now
end

-- Takes one out: true. When there is none: false, and the seconds until there is.
function rate.take(bucket, now)
  fill(bucket, now)
  -- A hair less than one is one: sums of fractions are not exact.
  if bucket.left >= 1 - 1e-9 then
    bucket.left = math.max(0, bucket.left - 1)
    return true
  end
  return false, (1 - bucket.left) * 60 / bucket.perMinute
end

return rate
