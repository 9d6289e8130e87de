package snippet

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pass"
)

// language is one that docs/integrate/pass.md has a program in.
type language struct {
	heading, file string
	// run is the command for the file.
	run []string
	// install is what install-debian.sh calls the program.
	install string
	// driver prints a line for each argument, "good" and its claims or "refused" and why. It
	// goes to the end of the program or, if there is one, before this line.
	driver, before string
	// hurry is how long the program waits for the room at most, and patience what the test
	// makes of it: on a busy machine a program may take seconds to begin.
	hurry, patience string
}

var languages = []language{
	{
		heading: "Node.js", file: "verify.mjs", run: []string{"node"}, install: "node",
		hurry: "timeout(2_000)", patience: "timeout(60_000)",
		driver: `for (const pass of process.argv.slice(2)) {
  try { console.log('good', JSON.stringify(await verifyPass(pass))); } catch (error) { console.log('refused', error.message); }
}`,
	},
	{
		heading: "Python", file: "verify.py", run: []string{python()}, install: "python3-cryptography",
		hurry: "timeout=2)", patience: "timeout=60)",
		driver: `
import sys
for token in sys.argv[1:]:
    try:
        print("good", json.dumps(verify_pass(token)))
    except Exception as error:
        print("refused", repr(error))
`,
	},
	{
		heading: "PHP", file: "verify.php", run: []string{"php"}, install: "php",
		hurry: "'timeout' => 2]", patience: "'timeout' => 60]",
		driver: `foreach (array_slice($argv, 1) as $pass) {
    try { echo 'good ' . json_encode(verify_pass($pass)) . "\n"; } catch (Throwable $e) { echo 'refused ' . $e->getMessage() . "\n"; }
}`,
	},
	{
		heading: "Java", file: "PassVerifier.java", run: []string{"java", "-XX:TieredStopAtLevel=1"}, install: "javac",
		hurry: "Duration.ofSeconds(2)", patience: "Duration.ofSeconds(60)",
		driver: `final class Main {
    public static void main(String[] passes) {
        PassVerifier verifier = new PassVerifier();
        for (String pass : passes) {
            try { System.out.println("good " + verifier.verify(pass)); } catch (Exception e) { System.out.println("refused " + e); }
        }
    }
}
`, before: "final class PassVerifier {",
	},
}

// python is the first that has the library; Debian's is not always the first of all.
func python() string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import cryptography").Run() == nil {
			return name
		}
	}
	return "a python3 with cryptography"
}

// good is an admission that holds on any day on which this is run.
var good = pass.Grant{
	ZoneID: "TEST_ZONE", ID: line.ID{1, 2, 3, 4, 5, 6, 7, 8}, AdmittedAtMillis: 1_795_223_434_000, ExpiresAtMillis: 32_503_680_000_000,
}

func newSigner(t *testing.T, issuer string, secrets ...byte) *pass.Signer {
	t.Helper()
	var all [][]byte
	for _, n := range secrets {
		all = append(all, bytes.Repeat([]byte{n}, 32))
	}
	s, err := pass.NewSigner(issuer, all...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func issue(t *testing.T, s *pass.Signer, change func(*pass.Grant)) string {
	t.Helper()
	g := good
	if change != nil {
		change(&g)
	}
	p, err := s.Issue(g)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// attempts are passes, and whether they are good.
func attempts(t *testing.T, signer *pass.Signer) (names, passes []string, want []bool) {
	t.Helper()
	const issuer = pass.DefaultIssuer
	add := func(name, p string, good bool) {
		names, passes, want = append(names, name), append(passes, p), append(want, good)
	}
	genuine := issue(t, signer, nil)
	parts := strings.Split(genuine, ".")
	encode := base64.RawURLEncoding.EncodeToString
	other := strings.Split(issue(t, newSigner(t, issuer, 3), nil), ".")
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	changed := encode(bytes.Replace(claims, []byte("0102030405060708"), []byte("ffffffffffffffff"), 1))
	var set struct {
		Keys []struct {
			Kid string `json:"kid"`
			X   string `json:"x"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(signer.JWKS(), &set); err != nil {
		t.Fatal(err)
	}
	public, err := base64.RawURLEncoding.DecodeString(set.Keys[0].X)
	if err != nil {
		t.Fatal(err)
	}
	header := func(alg string) string {
		return encode([]byte(`{"alg":"` + alg + `","kid":"` + set.Keys[0].Kid + `"}`))
	}
	mac := hmac.New(sha256.New, public)
	mac.Write([]byte(header("HS256") + "." + parts[1]))

	add("a good one", genuine, true)
	add("of the older key", issue(t, newSigner(t, issuer, 2), nil), true)
	add("local", issue(t, signer, func(g *pass.Grant) { g.Local = true }), true)
	add("expired", issue(t, signer, func(g *pass.Grant) { g.AdmittedAtMillis, g.ExpiresAtMillis = 1_000_000_000, 1_000_300_000 }), false)
	add("another zone's", issue(t, signer, func(g *pass.Grant) { g.ZoneID = "OTHER_ZONE" }), false)
	add("another room's", issue(t, newSigner(t, "other", 1), nil), false)
	add("of an unknown key", strings.Join(other, "."), false)
	add("forged: another key's signature", strings.Join([]string{parts[0], parts[1], other[2]}, "."), false)
	add("forged: other claims", strings.Join([]string{parts[0], changed, parts[2]}, "."), false)
	add("forged: no algorithm", header("none")+"."+parts[1]+".", false)
	add("forged: no algorithm, a signature", header("none")+"."+parts[1]+"."+parts[2], false)
	add("forged: the public key as a secret", header("HS256")+"."+parts[1]+"."+encode(mac.Sum(nil)), false)
	add("without a signature", parts[0]+"."+parts[1]+".", false)
	add("cut short", genuine[:len(genuine)-4], false)
	add("four parts", genuine+".a", false)
	add("garbage", "x", false)
	add("empty parts", "..", false)
	add("long", strings.Repeat("a", 5000)+".b.c", false)
	add("a good one, at the end", genuine, true)
	return names, passes, want
}

// TestPrograms runs each on every attempt, in one process: the room is asked once.
func TestPrograms(t *testing.T) {
	t.Parallel()
	text, signer := room.Read(t, "../../docs/integrate/pass.md"), newSigner(t, pass.DefaultIssuer, 1, 2)
	names, passes, want := attempts(t, signer)
	for _, l := range languages {
		t.Run(l.heading, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				if r.URL.Path != "/.well-known/jwks.json" {
					http.NotFound(w, r)
					return
				}
				_, _ = w.Write(signer.JWKS())
			}))
			defer server.Close()
			out := l.runOn(t, text, server.URL, passes)
			for i, name := range names {
				says := "refused "
				if want[i] {
					says = "good {"
				}
				if !strings.HasPrefix(out[i], says) || want[i] && !strings.Contains(out[i], `"0102030405060708"`) {
					t.Errorf("%s: %s", name, out[i])
				}
			}
			if asked.Load() != 1 {
				t.Errorf("the key set was fetched %d times", asked.Load())
			}
			// While the room is away, nothing is good, and nothing breaks.
			server.Close()
			for i, line := range l.runOn(t, text, server.URL, passes) {
				if !strings.HasPrefix(line, "refused ") {
					t.Errorf("%s, while the room is away: %s", names[i], line)
				}
			}
		})
	}
}

// TestPyJWT: PyJWT, which refuses what is issued in its future, finds the keys by the issuer alone, as an authorizer does. It
// takes the passes of each algorithm, also those of a room whose clock is ahead by some seconds.
func TestPyJWT(t *testing.T) {
	t.Parallel()
	const verify = `import json, sys, jwt
discovery, keys = json.loads(sys.argv[1]), json.loads(sys.argv[2])
for token in sys.argv[3:]:
    kid = jwt.get_unverified_header(token)["kid"]
    key = next(k for k in jwt.PyJWKSet.from_dict(keys).keys if k.key_id == kid)
    try:
        claims = jwt.decode(token, key.key, algorithms=discovery["id_token_signing_alg_values_supported"], audience="TEST_ZONE", issuer=discovery["issuer"])
        print("good", claims["sub"])
    except jwt.InvalidTokenError as error:
        print("refused", type(error).__name__)
`
	file, now := filepath.Join(t.TempDir(), "pass.pem"), time.Now().UnixMilli()
	room.Do(t, ".", "openssl", "genrsa", "-out", file, "2048")
	keys, err := pass.ReadRSA(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, algorithm := range pass.Algorithms {
		signer, err := (pass.Keys{Algorithms: []string{algorithm}, RSA: keys}).NewSigner("https://queue.example", bytes.Repeat([]byte{1}, 32))
		if err != nil {
			t.Fatal(err)
		}
		discovery, _ := signer.Discovery()
		args := []string{"-c", verify, string(discovery), string(signer.JWKS())}
		for _, ahead := range []int64{0, 8_000, 600_000} {
			args = append(args, issue(t, signer, func(g *pass.Grant) { g.AdmittedAtMillis = now + ahead }))
		}
		const good = "good 0102030405060708\n"
		if said := room.Do(t, ".", "/usr/bin/python3", args...); said != good+good+"refused ImmatureSignatureError" {
			t.Errorf("%s: %s", algorithm, said)
		}
	}
}

// runOn writes the program of a page to a folder, and returns what it says of each pass.
func (l language) runOn(t *testing.T, page, url string, passes []string) []string {
	t.Helper()
	folder := t.TempDir()
	program := l.program(t, page)
	for old, put := range map[string]string{"https://queue.example": url, l.hurry: l.patience} {
		if !strings.Contains(program, old) {
			t.Fatalf("the program has no %q", old)
		}
		program = strings.ReplaceAll(program, old, put)
	}
	program = strings.ReplaceAll(program, "/var/lib/shop", folder)
	at := len(program)
	if l.before != "" {
		at = strings.Index(program, l.before)
	}
	if at < 0 {
		t.Fatalf("the program has no %q", l.before)
	}
	file := filepath.Join(folder, l.file)
	room.Write(t, file, program[:at]+l.driver+program[at:])
	if _, err := exec.LookPath(l.run[0]); err != nil {
		t.Fatalf("%v: scripts/install-debian.sh %s, or run the tests with make test", err, l.install)
	}
	var problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), l.run[0], append(append(l.run[1:], file), passes...)...)
	cmd.Stderr = &problems
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != len(passes) {
		t.Fatalf("%v, %d lines for %d passes\n%s\n%s", err, len(lines), len(passes), out, &problems)
	}
	return lines
}

// program is the first block of code below the language's heading.
func (l language) program(t *testing.T, page string) string {
	t.Helper()
	found := regexp.MustCompile(fmt.Sprintf("(?s)\n### %s\n.*?\n```[a-z]+\n(.*?)\n```\n", regexp.QuoteMeta(l.heading))).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("docs/integrate/pass.md has no program below %q", l.heading)
	}
	return found[1] + "\n"
}
