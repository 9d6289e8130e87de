-- sliding_counter: what was taken in this window of the clock, and in the one
-- before, which fades.
--@include counter

function ALGORITHMS.c()
  local sliding_counter = { advance = advance_counter, take = take_from_counter, keep = keep_counter }

  -- Up to the end of this window, r.before fades. In the next window r.held does, and
  -- after that nothing is left.
  function sliding_counter.short(r, cost)
    local w, e = r.window, r.at - r.began
    local room = (r.limit - r.held - cost) * w
    if r.before * (w - e) <= room then
      return 0
    elseif room >= 0 then
      return w - floor(room / r.before) - e
    end
    return w - e + w - floor((r.limit - cost) * w / r.held)
  end

  function sliding_counter.left(r)
    local w, e = r.window, r.at - r.began
    local reset = 0
    if r.held > 0 then
      reset = 2 * w - e
    elseif r.before > 0 then
      reset = w - e
    end
    return floor(((r.limit - r.held) * w - r.before * (w - e)) / w), reset
  end

  return sliding_counter
end
