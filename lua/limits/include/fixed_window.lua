-- fixed_window: what was taken in this window of the clock.
--@include counter

function ALGORITHMS.f()
  local fixed_window = { take = take_from_counter, keep = keep_counter }

  function fixed_window.advance(r, now)
    advance_counter(r, now)
    r.before = 0
  end

  function fixed_window.short(r, cost)
    return r.held + cost > r.limit and r.began + r.window - r.at or 0
  end

  function fixed_window.left(r)
    return r.limit - r.held, r.held > 0 and r.began + r.window - r.at or 0
  end

  return fixed_window
end
