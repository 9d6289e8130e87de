package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/openqueue/waitingroom/internal/operate/cli"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/serve/secret"
	"github.com/openqueue/waitingroom/internal/token"
)

// given are the secrets that the settings have, themselves or by the names of their
// files. Each is empty where it is not set.
type given struct {
	secrets                                               [][]byte
	adminToken, metricsToken, challengeSecret, oidcSecret string
	// shared are the files among them that others on this machine may read.
	shared []string
}

// readGiven reads the secrets of the settings. where names a setting, and fault
// takes what is wrong with one: see check.
func (s settings) readGiven(where func(flag string) string, fault func(flag, format string, a ...any)) given {
	var g given
	for _, one := range []struct {
		flag, value, path string
		use               func(text string) error
	}{
		{"secret", s.Secret, s.SecretFile, func(text string) (err error) {
			g.secrets, err = secret.Parse(text)
			return err
		}},
		{"admin-token", s.AdminToken, s.AdminTokenFile, func(text string) error {
			if g.adminToken = text; text == adminTokenOff {
				return nil
			}
			return secret.CheckToken(text)
		}},
		{"metrics-token", s.MetricsToken, s.MetricsFile, func(text string) error {
			g.metricsToken = text
			return secret.CheckToken(text)
		}},
		{"challenge-secret", s.ChallengeSecret, s.ChallengeSecretFile, func(text string) error {
			g.challengeSecret = text
			return nil
		}},
		{"oidc-client-secret", s.OIDCClientSecret, s.OIDCSecretFile, func(text string) error {
			g.oidcSecret = text
			return nil
		}},
	} {
		flag, text := one.flag, one.value
		if one.path != "" {
			flag += "-file"
			if one.value != "" {
				fault(flag, "is set, and so is %s; keep one of them", where(one.flag))
				continue
			}
			var shared bool
			var err error
			if text, shared, err = secret.ReadFile(one.path); err != nil {
				fault(flag, "%w", err)
				continue
			}
			if shared {
				g.shared = append(g.shared, one.path)
			}
		}
		if text == "" && one.path == "" {
			continue
		}
		if err := one.use(text); err != nil {
			fault(flag, "%w", err)
		}
	}
	return g
}

// keys are all that is derived from secrets.
type keys struct {
	tokens *token.Keys
	passes *pass.Signer
	// adminToken is the root token; "" for none.
	adminToken string
	// secrets sign what is for this server's own eyes, the newest first.
	secrets [][]byte
}

// adminTokenOff as the root token says that there is none.
const adminTokenOff = "off"

// makeToken returns the root token that the data folder has, or makes one: path is the file that has it, which only its owner may
// read. Where the data folder takes none, that is a file in the folder of temporary files: the brake must work all the same.
func makeToken(dir string, log *slog.Logger) (token, path string, made bool, err error) {
	token, made, err = secret.LoadToken(dir)
	path = filepath.Join(dir, "admin-token")
	if !errors.Is(err, secret.ErrNotKept) {
		return token, path, made, err
	}
	log.Warn("the root token that was made now is not kept: the next start makes another", "error", err)
	f, err := os.CreateTemp("", "queue-server-admin-token-*") // of mode 0600
	if err != nil {
		return "", "", false, err
	}
	_, err = f.WriteString(token + "\n")
	return token, f.Name(), true, errors.Join(err, f.Close())
}

// loadKeys derives the keys from the settings, and from the data folder what is
// not set.
func loadKeys(s checked, log *slog.Logger) (keys, error) {
	k := keys{adminToken: s.adminToken}
	for _, path := range s.shared {
		log.Warn("others on this machine may read a file with a secret: put it right with chmod o= FILE", "file", path)
	}
	secrets := s.secrets
	if len(secrets) == 0 {
		loaded, made, err := secret.Load(s.DataDir)
		if err != nil {
			// Not even if the disk is full: everybody would lose the place at the next start.
			return keys{}, cli.UsageError{Err: fmt.Errorf("no QUEUE_SECRET is set, and none can be kept in the data folder: %w", err)}
		}
		secrets = loaded
		if made {
			log.Info("made a secret and kept it in the data folder", "folder", s.DataDir)
		}
		if s.Store == storeRedis {
			log.Warn("QUEUE_SECRET IS NOT SET: this server signs with a secret of its own. " +
				"Another server on the same Redis refuses its tokens, and visitors who reach both servers lose their places. " +
				"Set the same QUEUE_SECRET on all of them, made with: openssl rand -base64 32")
		}
	}
	switch k.adminToken {
	case adminTokenOff:
		k.adminToken = ""
	case "":
		loaded, path, made, err := makeToken(s.DataDir, log)
		if err != nil {
			return keys{}, cli.UsageError{Err: fmt.Errorf("no QUEUE_ADMIN_TOKEN is set, and none can be kept in the data folder: %w", err)}
		}
		k.adminToken = loaded
		if made {
			log.Info("made the root token of operators, which may do everything: it is in the file", "file", path)
		}
	}
	k.secrets = secrets
	var err error
	if k.tokens, err = token.NewKeys(secrets...); err != nil {
		return keys{}, cli.UsageError{Err: err}
	}
	if s.Store == storeEmbedded { // with Redis, the servers share one
		key, err := secret.LoadVisitorKey(s.DataDir, k.tokens.VisitorKey())
		if errors.Is(err, secret.ErrNotKept) {
			log.Warn("the key of visitors' ids is not kept: after a rotation of the secret, a client that joins again with its clientId gets another place", "error", err)
			err = nil
		}
		if err == nil {
			err = k.tokens.UseVisitorKey(key)
		}
		if err != nil {
			return keys{}, cli.UsageError{Err: err}
		}
	}
	if k.passes, err = s.passKeys.NewSigner(s.PassIssuer, secrets...); err != nil {
		return keys{}, cli.UsageError{Err: err}
	}
	return k, nil
}
