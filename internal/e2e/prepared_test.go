package e2e

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/internal/testenv"
)

// installed is what stacks of this test binary share: a database with one user, who is an administrator and has an
// API token, sealed with one keyset. Each stack gets a copy, because the commands that make it are four
// processes and a migration.
var installed struct {
	sync.Mutex
	keyset string
	tokens map[storeKind]string
}

// sharedKeyset returns the keyset of every database of copyInstalled.
func sharedKeyset() (string, error) {
	installed.Lock()
	defer installed.Unlock()
	var err error
	if installed.keyset == "" {
		installed.keyset, err = seal.Generate()
	}
	return installed.keyset, err
}

// copyInstalled returns the URL of a copy of the installed database, and the API token of its user.
func copyInstalled(t testing.TB, kind storeKind) (url, token string) {
	t.Helper()
	install := func(url string) error { return installInto(context.WithoutCancel(t.Context()), kind, url) }
	if kind == postgres {
		url = testenv.Postgres(t, install)
	} else {
		url = testenv.SQLite(t, install)
	}
	installed.Lock()
	defer installed.Unlock()
	return url, installed.tokens[kind]
}

func installInto(ctx context.Context, kind storeKind, url string) error {
	token, err := install(ctx, url)
	installed.Lock()
	defer installed.Unlock()
	if installed.tokens == nil {
		installed.tokens = map[storeKind]string{}
	}
	installed.tokens[kind] = token
	return err
}

// install does what the commands "users add" and "tokens create" do, and returns the token.
func install(ctx context.Context, url string) (token string, err error) {
	err = administer(ctx, url, func(admin *app.Admin) error {
		user, err := admin.Auth.CreateUser(ctx, userEmail, userPassword, true)
		if err != nil {
			return err
		}
		token, err = admin.Auth.CreateToken(ctx, &broker.APIToken{UserID: user.ID, Name: "e2e", Kind: broker.TokenUser})
		return err
	})
	return token, err
}

// registerHost does what "hosts add" does.
func registerHost(ctx context.Context, url, hostURL string) (id string, err error) {
	err = administer(ctx, url, func(admin *app.Admin) error {
		host, err := admin.Hosts.Create(ctx, broker.Caller{Admin: true}, &broker.HostRequest{
			Name: "first", URL: hostURL, Password: hostPassword,
		})
		if err == nil {
			id = host.ID
		}
		return err
	})
	return id, err
}

func administer(ctx context.Context, url string, do func(*app.Admin) error) error {
	keyset, err := sharedKeyset()
	if err != nil {
		return err
	}
	admin, err := app.OpenAdmin(ctx, app.StoreConfig{
		DatabaseURL: seal.NewSecret(url), Keyset: seal.NewSecret(keyset), Log: quiet, MaxConns: 2,
	})
	if err != nil {
		return err
	}
	err = do(admin)
	if closed := admin.Close(); err == nil {
		err = closed
	}
	return err
}

// installByCommands is what an operator does: it makes a keyset, a user, a host and a token.
func (s *stack) installByCommands() {
	s.t.Helper()
	s.keyset = s.file("keyset", run(s.t, nil, "keys", "generate"))
	s.administer("users", "add", "--email", userEmail, "--admin")
	s.hostID = strings.TrimSpace(s.administer("hosts", "add", "--name", "first", "--url", "http://"+s.toHost.Addr()))
	s.token = strings.TrimSpace(s.administer("tokens", "create", "--email", userEmail, "--name", "e2e"))
	s.equip()
}

// emptyDatabase returns the URL of a database without tables.
func emptyDatabase(t testing.TB, dir string, kind storeKind) string {
	t.Helper()
	if kind == postgres {
		return testenv.Postgres(t, nil)
	}
	return "sqlite:" + filepath.Join(dir, "broker.db")
}
