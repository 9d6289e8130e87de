package main

import (
	"net/url"

	"github.com/openqueue/waitingroom/internal/serve/secret"
)

// given are the secrets that the settings have, themselves or by the names of their
// files. Each is empty where it is not set.
type given struct {
	secrets                  [][]byte
	adminToken, metricsToken string
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
			g.adminToken = text
			return secret.CheckToken(text)
		}},
		{"metrics-token", s.MetricsToken, s.MetricsFile, func(text string) error {
			g.metricsToken = text
			return secret.CheckToken(text)
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
	if u, err := url.Parse(s.RedisURL); err == nil && where("redis-url") == "--redis-url" {
		if _, has := u.User.Password(); has {
			fault("redis-url", "has a password, and %s; set QUEUE_REDIS_URL, and another password", everybodyReads)
		}
	}
	return g
}
