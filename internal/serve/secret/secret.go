package secret

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

const (
	// MinBytes is the least length of a secret: that of the keys that are derived
	// from it.
	MinBytes = 32
	// minDistinct is the least number of different bytes in a secret. What
	// people type in a hurry ("xxxx...", "changeme" many times) has fewer; 32
	// random bytes have fewer less than once in 10^30 times.
	minDistinct = 9
	// MinTokenChars is the least length of an operators' token: as many characters of base64 hold MinTokenBits.
	MinTokenChars = 22
	// fingerprintInfo makes a fingerprint differ from all keys that are derived from a secret.
	fingerprintInfo = "openqueue/waitingroom/v1 secret fingerprint"
	// fingerprintBytes is the length of a fingerprint: two secrets have the same one once in
	// 10^19 times.
	fingerprintBytes = 8
)

// The names of the files in the data directory.
const (
	File          = "secret"
	tokenFileName = "admin-token"
	// visitorKeyFileName has the key by which a clientId becomes an id.
	visitorKeyFileName = "visitor-key"
)

// ErrUnusable is wrapped by the error for a secret, token or file that must
// not be used as it is.
var ErrUnusable = errors.New("secret: unusable")

// howTo and howToToken end the errors about a secret and about a token that cannot be used.
const (
	howTo      = "make one with: openssl rand -base64 32"
	howToToken = "make one with: openssl rand -hex 32"
)

// Parse reads one or more secrets, newest first, separated by commas or, as in a
// file, by ends of lines. A secret is written in base64 (of either alphabet, padded
// or not), which stands for at least MinBytes bytes. Any other text is itself the
// secret, and must have at least MinBytes bytes. The error wraps ErrUnusable.
func Parse(setting string) ([][]byte, error) {
	return parse(strings.Split(strings.ReplaceAll(strings.TrimSpace(setting), "\n", ","), ","))
}

func parse(parts []string) ([][]byte, error) {
	secrets := make([][]byte, 0, len(parts))
	for i, part := range parts {
		name := "it"
		if len(parts) > 1 {
			name = fmt.Sprintf("number %d of %d", i+1, len(parts))
		}
		s := decode(strings.TrimSpace(part))
		switch {
		case len(s) == 0:
			return nil, fmt.Errorf("%w: %s is empty; %s", ErrUnusable, name, howTo)
		case len(s) < MinBytes:
			return nil, fmt.Errorf("%w: %s has %d bytes, must have at least %d; %s",
				ErrUnusable, name, len(s), MinBytes, howTo)
		case distinct(s) < minDistinct:
			return nil, fmt.Errorf("%w: %s is easy to guess, it repeats a few characters; %s", ErrUnusable, name, howTo)
		}
		for j, earlier := range secrets {
			if bytes.Equal(s, earlier) {
				return nil, fmt.Errorf("%w: number %d is the same as number %d; remove one of them",
					ErrUnusable, i+1, j+1)
			}
		}
		secrets = append(secrets, s)
	}
	return secrets, nil
}

// decode returns the bytes that s stands for in base64, if they are enough for a
// secret; else the bytes of s.
func decode(s string) []byte {
	for _, e := range []*base64.Encoding{
		base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding,
	} {
		if b, err := e.DecodeString(s); err == nil && len(b) >= MinBytes {
			return b
		}
	}
	return []byte(s)
}

// distinct counts the different bytes of s.
func distinct(s []byte) int {
	var seen [256]bool
	n := 0
	for _, b := range s {
		if !seen[b] {
			seen[b] = true
			n++
		}
	}
	return n
}

// Fingerprints returns a name of each secret, in their order: 16 hexadecimal digits, by HKDF
// (RFC 5869). Servers with the same secret have the same name for it. It tells nothing of the
// secret, nor of a key that is derived from it.
func Fingerprints(secrets [][]byte) ([]string, error) {
	all := make([]string, len(secrets))
	for i, s := range secrets {
		b, err := hkdf.Key(sha256.New, s, nil, fingerprintInfo, fingerprintBytes)
		if err != nil {
			return nil, fmt.Errorf("secret: fingerprint: %w", err)
		}
		all[i] = hex.EncodeToString(b)
	}
	return all, nil
}

// Load returns the secrets in the data directory, newest first. If there are none, it
// makes one, and the directory if need be; made says that it did.
//
// Errors that wrap ErrUnusable name the file and say what to do about it.
func Load(dir string) (secrets [][]byte, made bool, err error) {
	path := filepath.Join(dir, File)
	text, made, err := loadOrMake(path, func() string {
		b := make([]byte, MinBytes)
		rand.Read(b) // never fails: crypto/rand ends the program instead
		return base64.StdEncoding.EncodeToString(b)
	})
	if err != nil {
		return nil, false, err
	}
	secrets, err = parse(strings.Split(text, "\n"))
	if err != nil {
		return nil, false, fmt.Errorf("secret: file %s: %w, or bring back the file from a backup; "+
			"with another secret, everybody in a line loses the place", path, err)
	}
	return secrets, made, nil
}

// LoadVisitorKey returns the key of visitors' ids in the data directory. If there is none, it keeps first there and
// returns it. A key that cannot be written is returned, too, with an error that wraps ErrNotKept.
func LoadVisitorKey(dir string, first []byte) ([]byte, error) {
	path := filepath.Join(dir, visitorKeyFileName)
	text, _, err := loadOrMake(path, func() string { return hex.EncodeToString(first) })
	if errors.Is(err, ErrNotKept) {
		return first, err
	}
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: file %s is not in hexadecimal: bring it back from a backup", ErrUnusable, path)
	}
	return key, nil
}

// CheckTokenForm returns an error that wraps ErrUnusable for a text that no version of the
// server accepts as an operators' token: it is too short, or cannot be sent in a header.
func CheckTokenForm(token string) error {
	if len(token) < MinTokenChars {
		return fmt.Errorf("%w: it has %d characters, must have at least %d; %s",
			ErrUnusable, len(token), MinTokenChars, howToToken)
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return fmt.Errorf("%w: it has a blank, or a character that is not ASCII; %s", ErrUnusable, howToToken)
		}
	}
	return nil
}

// LoadToken returns the operators' token in the data directory. If there is none, it
// makes one, and the directory if need be; made says that it did, so that the caller
// shows the token to the operator. A new token that cannot be written is returned, too,
// with an error that wraps ErrNotKept.
func LoadToken(dir string) (token string, made bool, err error) {
	path := filepath.Join(dir, tokenFileName)
	token, made, err = loadOrMake(path, rand.Text)
	if errors.Is(err, ErrNotKept) {
		return token, made, err
	}
	if err != nil {
		return "", false, err
	}
	if err := CheckToken(token); err != nil {
		return "", false, fmt.Errorf("secret: file %s: %w, or remove the file to have a new one made", path, err)
	}
	return token, made, nil
}

// ReadToken returns the operators' token in the data directory of a server on this
// machine. Unlike LoadToken it makes nothing. The error wraps fs.ErrNotExist if there
// is no token, and fs.ErrPermission if this user may not read it.
func ReadToken(dir string) (string, error) {
	return load(filepath.Join(dir, tokenFileName))
}

// ReadFile returns the text of a file that a setting names, without the white space at
// its ends. shared says that not only its owner and its group may read or write it.
// That is no error: all users in a container may read a file that the container engine
// mounts.
func ReadFile(path string) (text string, shared bool, err error) {
	text, err = read(path, func(info fs.FileInfo) error {
		shared = IsShared(info.Mode())
		return nil
	})
	return text, shared, err
}

// IsShared reports whether users who are neither a file's owner nor in its group may read or
// write it.
func IsShared(mode fs.FileMode) bool { return mode.Perm()&0o006 != 0 }
