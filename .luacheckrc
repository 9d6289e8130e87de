-- The scripts run inside Redis: Lua 5.1 with these names and no others. They
-- are checked as Redis gets them, with what they include put in place.
std = "none"
read_globals = {
  "ARGV", "KEYS", "redis", "bit", "cjson", "cmsgpack", "struct",
  "assert", "error", "ipairs", "next", "pairs", "pcall", "select", "tonumber", "tostring", "type", "unpack",
  "math", "string", "table",
}
max_line_length = 120
