package operator

import "strings"

// WarningHeader says, in an answer to a change that was made, that it may be lost and
// why: the code 199 of RFC 7234, section 5.5, the name "queue-server", and a sentence.
const WarningHeader = "Warning"

// warning is the value of a WarningHeader: ASCII, on one line.
func warning(why error) string {
	text := strings.Map(func(r rune) rune {
		switch {
		case r == '"' || r == '\\':
			return '\''
		case r == '\n':
			return ';'
		case r < ' ' || r > '~':
			return '?'
		}
		return r
	}, why.Error())
	return `199 queue-server "in force on this server, but not kept: ` + text + `"`
}
