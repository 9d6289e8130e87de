package secret

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// raw is a secret that is not base64.
const raw = "correct horse! battery? staple; 1234"

// other32 is a secret of 32 bytes, which the tests write in base64.
var other32 = []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f" +
	"\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xff")

func TestParse(t *testing.T) {
	std := base64.StdEncoding.EncodeToString(other32)
	tests := []struct {
		name, setting string
		want          []string
	}{
		{"base64", std, []string{string(other32)}},
		{"base64 without padding", strings.TrimRight(std, "="), []string{string(other32)}},
		{"base64 for URLs", base64.URLEncoding.EncodeToString(other32), []string{string(other32)}},
		{"base64 for URLs without padding", base64.RawURLEncoding.EncodeToString(other32), []string{string(other32)}},
		{"as it is", raw, []string{raw}},
		{"as it is, though base64 of too little", "abcdefghijklmnopqrstuvwxyz012345", []string{"abcdefghijklmnopqrstuvwxyz012345"}},
		{"several lines", raw + "\r\n" + std + "\n", []string{raw, string(other32)}},
		{"several", " " + raw + " , " + std + "\n", []string{raw, string(other32)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.setting)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(tt.want) {
				t.Fatalf("%d secrets, want %d", len(got), len(tt.want))
			}
			for i := range got {
				if string(got[i]) != tt.want[i] {
					t.Errorf("secret %d = %q, want %q", i, got[i], tt.want[i])
				}
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, setting, says string }{
		{"nothing", "", "it is empty; make one with: openssl rand -base64 32"},
		{"too short", "hunter2", "it has 7 bytes, must have at least 32; make one"},
		{"one byte short", raw[:31], "it has 31 bytes"},
		{"a repeated byte", strings.Repeat("x", 64), "easy to guess"},
		{"a repeated byte in base64", base64.StdEncoding.EncodeToString(make([]byte, 32)), "easy to guess"},
		{"a repeated word", strings.Repeat("changeme", 4), "easy to guess"},
		{"a trailing comma", raw + ",", "number 2 of 2 is empty"},
		{"the second too short", raw + ",hunter2", "number 2 of 2 has 7 bytes"},
		{"twice the same", raw + "," + base64.StdEncoding.EncodeToString([]byte(raw)), "number 2 is the same as number 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.setting)
			if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Parse = %v, want ErrUnusable that says %q", err, tt.says)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error tells the secret: %v", err)
			}
		})
	}
}

func TestLoadMakesASecretOnceAndKeepsIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	first, made, err := Load(dir)
	if err != nil || !made || len(first) != 1 || len(first[0]) < MinBytes {
		t.Fatalf("first Load: %d secrets, made %v, %v", len(first), made, err)
	}
	second, made, err := Load(dir)
	if err != nil || made || !bytes.Equal(first[0], second[0]) {
		t.Fatalf("second Load: made %v, %v", made, err)
	}
	other, _, err := Load(t.TempDir())
	if err != nil || bytes.Equal(first[0], other[0]) {
		t.Errorf("another folder's secret is the same, or %v", err)
	}
	wantMode(t, filepath.Join(dir, File), 0o600)
	wantMode(t, dir, 0o700)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries in the folder, want the secret only (%v)", len(entries), err)
	}
}

func TestLoadTokenMakesATokenOnceAndKeepsIt(t *testing.T) {
	dir := t.TempDir()
	first, made, err := LoadToken(dir)
	if err != nil || !made || CheckToken(first) != nil {
		t.Fatalf("first LoadToken: made %v, %v, %v", made, err, CheckToken(first))
	}
	second, made, err := LoadToken(dir)
	if err != nil || made || first != second {
		t.Fatalf("second LoadToken: made %v, %v", made, err)
	}
	wantMode(t, filepath.Join(dir, tokenFileName), 0o600)
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != want {
		t.Errorf("%s has mode %04o, want %04o", path, got, want)
	}
}

func TestLoadReadsSeveralNewestFirst(t *testing.T) {
	dir := t.TempDir()
	keep(t, dir, File, base64.StdEncoding.EncodeToString(other32)+"\n"+raw+"\n")
	got, made, err := Load(dir)
	if err != nil || made || len(got) != 2 || !bytes.Equal(got[0], other32) || string(got[1]) != raw {
		t.Errorf("Load = %q, %v, %v", got, made, err)
	}
}

func keep(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestUnusableFilesStopTheStartAndStay(t *testing.T) {
	tests := []struct {
		name, text string
		mode       fs.FileMode
		says       string
	}{
		{"empty", "", 0o600, "is empty; make one with: openssl rand -base64 32, or bring back the file from a backup"},
		{"cut off", "c2hvcnQ=", 0o600, "has 8 bytes, must have at least 32"},
		{"all zero", strings.Repeat("\x00", 64), 0o600, "easy to guess"},
		{"no file of ours", strings.Repeat("x y\n", maxFile), 0o600, "more than 16384 bytes"},
		{"readable by the group", raw, 0o640, "(mode 0640); if nobody has, put it right with: chmod 600 "},
		{"readable by all", raw, 0o604, "may be read or written by others"},
		{"writable by all", raw, 0o602, "may be read or written by others"},
	}
	loaders := map[string]func(dir string) error{
		File:          func(dir string) error { _, _, err := Load(dir); return err },
		tokenFileName: func(dir string) error { _, _, err := LoadToken(dir); return err },
	}
	for _, tt := range tests {
		for name, load := range loaders {
			t.Run(name+" "+tt.name, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, name)
				keep(t, dir, name, tt.text)
				if err := os.Chmod(path, tt.mode); err != nil {
					t.Fatal(err)
				}
				err := load(dir)
				if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), path) {
					t.Errorf("error %v, want ErrUnusable that names the file", err)
				}
				if name == File && err != nil && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("error %v, want one that says %q", err, tt.says)
				}
				after, readErr := os.ReadFile(path)
				if readErr != nil || string(after) != tt.text {
					t.Errorf("the file was changed (%v)", readErr)
				}
			})
		}
	}
}

func TestLoadRefusesAFolderInItsPlace(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, File), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(dir); !errors.Is(err, ErrUnusable) {
		t.Errorf("Load = %v, want ErrUnusable", err)
	}
}

func TestLoadWithoutADataFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	keep(t, filepath.Dir(file), "file", "x")
	if _, _, err := Load(filepath.Join(file, "data")); err == nil {
		t.Error("Load succeeded in a folder that cannot be")
	}
}

func TestProcessesThatStartTogetherAgree(t *testing.T) {
	dir := t.TempDir()
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		seen = map[string]int{}
		news int
	)
	for range 16 {
		all.Go(func() {
			secrets, made, err := Load(dir)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			seen[string(secrets[0])]++
			if made {
				news++
			}
		})
	}
	all.Wait()
	if len(seen) != 1 || news != 1 {
		t.Errorf("%d secrets, of which %d new; want one of each", len(seen), news)
	}
}

func TestCheckToken(t *testing.T) {
	tests := []struct{ name, token, says string }{
		{"good, of hexadecimal digits", "9f2c1b7de0a84c53d7104b6e2f98ac35", ""},
		{"good, of base64", "kX9+mQ2wr7Kp/XqzT4vL8A==", ""},
		{"empty", "", "has 0 characters, must have at least 22"},
		{"short", "123456789abcdef", "has 15 characters"},
		{"blank", "two words are certainly not one", "has a blank"},
		{"line break", "0123456789abcdef0123456789abcdef\n", "has a blank"},
		{"not ASCII", "0123456789abcdef0123456789abcdéf", "not ASCII"},
		{"one character", strings.Repeat("a", 40), "it has only 1 different characters; make one with: openssl rand -hex 32"},
		{"few characters", strings.Repeat("010011", 8), "it has only 2"},
		{"too few hexadecimal digits", "9f2c1b7de0a84c53d7104b6e2f98ac3", "its characters hold at most 124 random bits, must hold at least 128; make one with: openssl rand -hex 32"},
		{"digits", "82019475631508264937150826394715", "at most 106 random bits"},
		{"words", "changeme-hunter2-admin", "at most 115 random bits"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckToken(tt.token)
			if tt.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("CheckToken = %v, want ErrUnusable that says %q", err, tt.says)
			}
		})
	}
}

// A token that is made at random is never refused: else an operator would be told to make
// another one.
func TestRandomTokensAreStrong(t *testing.T) {
	numbers := rand.New(rand.NewChaCha8([32]byte{1}))
	drawn := make([]byte, 24)
	for range 20_000 {
		for i := range drawn {
			drawn[i] = byte(numbers.Uint32())
		}
		for _, token := range []string{
			hex.EncodeToString(drawn), hex.EncodeToString(drawn[:16]), base64.StdEncoding.EncodeToString(drawn), base32.StdEncoding.EncodeToString(drawn[:16]),
		} {
			if err := CheckToken(token); err != nil {
				t.Errorf("%s: %v", token, err)
			}
		}
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "given")
	for mode, shared := range map[fs.FileMode]bool{0o600: false, 0o640: false, 0o400: false, 0o644: true, 0o602: true} {
		if err := os.WriteFile(path, []byte(" "+raw+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		text, got, err := ReadFile(path)
		if err != nil || text != raw || got != shared {
			t.Errorf("mode %04o: %q, shared %t, %v", mode, text, got, err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := ReadFile(path + "-of-nobody"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
