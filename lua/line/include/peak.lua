-- peak: the most admissions in any 1,000 ms, as window.Peak has it. The zone's field peak
-- holds "minute most before": which minute, since 1970, the most that ended in it, and in
-- the one before.
--@include rates

-- peak_of returns the minute of now, and what is known of it and the one before.
local function peak_of(z, t)
  local minute = floor(t.now / MINUTE)
  local known, most, before = string.match(z.peak, '^(%d+) (%d+) (%d+)$')
  if known and minute == tonumber(known) then
    return minute, tonumber(most), tonumber(before)
  elseif known and minute == tonumber(known) + 1 then
    return minute, 0, tonumber(most)
  end
  return minute, 0, 0
end

-- see notes how many the second held that ends with this call, if it let anybody in.
local function see(z, t)
  if not next(t.waits) then
    return
  end
  local minute, most, before = peak_of(z, t)
  z.peak = string.format('%.0f %.0f %.0f', minute, max(most, t.logged_second), before)
end

-- latest_peak is the most that ended in the last one to two minutes.
local function latest_peak(z, t)
  local _, most, before = peak_of(z, t)
  return max(most, before)
end
