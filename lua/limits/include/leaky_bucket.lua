-- leaky_bucket: the debt of a token_bucket, which here is what has not left yet. A
-- request leaves when all that came before it has left.
--@include token_bucket

local leaky_bucket = {
  advance = token_bucket.advance, short = token_bucket.short, left = token_bucket.left, keep = token_bucket.keep,
}

function leaky_bucket.take(r, now, cost)
  local delay = r.at - now + ceil(r.held, r.limit)
  token_bucket.take(r, now, cost)
  return delay
end

ALGORITHMS.q = leaky_bucket
