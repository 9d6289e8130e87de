-- The scripts run inside Redis: Lua 5.1 with these globals and no others. They
-- are checked as Redis gets them, with what they include put in place.
std = "min"
read_globals = { "redis", "cjson", "cmsgpack", "bit", "struct", "KEYS", "ARGV" }
globals = {}
max_line_length = 120
