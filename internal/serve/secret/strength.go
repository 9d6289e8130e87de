package secret

import (
	"fmt"
	"math"
	"strings"
)

const (
	// MinTokenBits is what an operators' token must be able to hold: nobody guesses 128 random bits.
	MinTokenBits = 128
	// minTokenDistinct is the least number of different characters in an
	// operators' token. 32 random hexadecimal digits have fewer once in 10^9 times.
	minTokenDistinct = 7
)

// CheckToken returns an error that wraps ErrUnusable for an operators' token that cannot be sent in a
// header, or whose characters cannot hold MinTokenBits random bits.
func CheckToken(token string) error {
	if err := CheckTokenForm(token); err != nil {
		return err
	}
	if n := distinct([]byte(token)); n < minTokenDistinct {
		return fmt.Errorf("%w: it has only %d different characters; %s", ErrUnusable, n, howToToken)
	}
	if n := tokenBits(token); n < MinTokenBits {
		return fmt.Errorf("%w: its characters hold at most %d random bits, must hold at least %d; %s", ErrUnusable, n, MinTokenBits, howToToken)
	}
	return nil
}

// tokenBits is how many random bits a token of these characters can hold: each is one of an alphabet, the smallest of the
// usual ones that has them all.
func tokenBits(token string) int {
	for _, alphabet := range []string{
		"0123456789", "0123456789abcdef", "0123456789ABCDEF", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789abcdefghijklmnopqrstuvwxyz-_",
	} {
		if strings.Trim(token, alphabet) == "" {
			return int(float64(len(token)) * math.Log2(float64(len(alphabet))))
		}
	}
	return len(token) * 6 // base64
}
