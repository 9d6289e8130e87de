package secret

import (
	"fmt"
	"strings"
)

const (
	// minTokenDistinct is the least number of different characters in an
	// operators' token. 16 random hexadecimal digits have fewer once in 1,100
	// times, 32 of them once in 10^9 times.
	minTokenDistinct = 7
	// minTokenChosen is how many characters of a token chosen must count at least.
	minTokenChosen = 12
	// copied is the least length of a part that counts as a copy of an earlier part.
	copied = 4
)

// wellKnown are words that come first in every list of guesses. They are found in any
// case, and with digits for letters.
var wellKnown = []string{
	"administrator", "changeit", "changeme", "correcthorse", "waitingroom",
	"asdfghjkl", "qwertyuiop", "1qaz2wsx", "zxcvbnm", "password", "passwort", "passwd", "letmein", "welcome",
	"iloveyou", "operators", "operator", "default", "example", "replace", "secrets", "secret", "bearer", "sesame",
	"dragon", "monkey", "qwerty", "queue", "server", "tokens", "token", "hunter", "master", "change", "prod",
	"staging", "admin", "login", "guest", "tests", "test", "demo", "root", "user", "pass", "asdf", "zxcv", "qaz",
}

// letters replaces the usual digits and signs for letters by the letters. Each is one byte, so
// that positions stay the same.
var letters = strings.NewReplacer("@", "a", "4", "a", "3", "e", "1", "i", "0", "o", "$", "s", "5", "s", "7", "t")

// CheckToken returns an error that wraps ErrUnusable for an operators' token that cannot be sent in a
// header, is too short, or that a program would guess: it has few different characters, or is mostly
// well-known words, sequences and repetitions.
func CheckToken(token string) error {
	if err := CheckTokenForm(token); err != nil {
		return err
	}
	if n := distinct([]byte(token)); n < minTokenDistinct {
		return fmt.Errorf("%w: it is easy to guess, it has only %d different characters; %s", ErrUnusable, n, howToToken)
	}
	if chosen(token) < minTokenChosen {
		return fmt.Errorf("%w: it is easy to guess, it is mostly well-known words, sequences or repetitions; %s",
			ErrUnusable, howToToken)
	}
	return nil
}

// chosen counts the characters of a token that somebody had to choose. A
// character does not count within a well-known word, within a copy of an earlier
// part, or as the next of a sequence such as aaa, 456 or zyx.
func chosen(token string) int {
	low := strings.ToLower(token)
	taken := make([]bool, len(low))
	for _, spelling := range []string{low, letters.Replace(low)} {
		for _, word := range wellKnown {
			for at := 0; ; {
				i := strings.Index(spelling[at:], word)
				if i < 0 {
					break
				}
				for j := range len(word) {
					taken[at+i+j] = true
				}
				at += i + len(word)
			}
		}
	}
	for i := 2; i < len(low); i++ {
		step := int(low[i]) - int(low[i-1])
		if step >= -1 && step <= 1 && step == int(low[i-1])-int(low[i-2]) {
			taken[i] = true
		}
	}
	for i := 1; i+copied <= len(low); i++ {
		// The earlier part may reach into this one, as in abababab.
		if strings.Contains(low[:i+copied-1], low[i:i+copied]) {
			for j := range copied {
				taken[i+j] = true
			}
		}
	}
	n := 0
	for _, is := range taken {
		if !is {
			n++
		}
	}
	return n
}
