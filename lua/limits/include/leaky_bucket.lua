-- leaky_bucket: the debt of a token_bucket, which here is what has not left yet. A
-- request leaves when all that came before it has left.
--@include token_bucket

function ALGORITHMS.q()
  local leaky_bucket = ALGORITHMS.t()
  local take = leaky_bucket.take
  function leaky_bucket.take(r, now, cost)
    local delay = r.at - now + ceil(r.held, r.limit)
    take(r, now, cost)
    return delay
  end

  return leaky_bucket
end
