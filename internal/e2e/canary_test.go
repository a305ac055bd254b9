package e2e

import (
	"database/sql"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"

	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/protocol"
)

// canary is a secret that must not appear anywhere.
type canary struct{ what, value string }

// canaries returns the secrets of a stack that the test knows.
func (s *stack) canaries(tasks ...string) []canary {
	s.t.Helper()
	keyset, err := os.ReadFile(s.keyset)
	if err != nil {
		s.t.Fatal(err)
	}
	found := []canary{
		{"the user's password", userPassword},
		{"the host's password", hostPassword},
		{"the API token", s.token},
		{"the keyset", strings.TrimSpace(string(keyset))},
	}
	return append(found, s.webhookSecrets(tasks)...)
}

// webhookSecrets unseals secrets in the database, as the broker does.
func (s *stack) webhookSecrets(tasks []string) (found []canary) {
	s.t.Helper()
	if len(tasks) == 0 {
		return nil
	}
	keyset, err := os.ReadFile(s.keyset)
	if err != nil {
		s.t.Fatal(err)
	}
	admin, err := app.OpenAdmin(s.t.Context(), app.StoreConfig{
		DatabaseURL: seal.NewSecret(s.dbURL), Keyset: seal.NewSecret(string(keyset)), Log: quiet,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	for _, task := range tasks {
		secret, err := admin.Store.WebhookSecret(s.t.Context(), task)
		if err != nil {
			s.t.Fatal(err)
		}
		found = append(found, canary{"the webhook secret of " + task, secret.Reveal()})
	}
	return found
}

// tokens match secrets that are never logged: stream tokens, API tokens, JWTs.
var tokens = regexp.MustCompile(`bhs_[A-Za-z0-9_-]{8,}|bhp_[A-Za-z0-9_-]{8,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+|[?&]token=[^\s"&]+`)

// checkLogs searches everything that both servers printed.
func (s *stack) checkLogs(secrets []canary) {
	s.t.Helper()
	for _, n := range []*node{s.broker, s.host} {
		printed := n.log.String()
		for _, secret := range secrets {
			if strings.Contains(printed, secret.value) {
				s.t.Errorf("the log of the %s has %s", n.name, secret.what)
			}
		}
		for _, token := range tokens.FindAllString(printed, 3) {
			s.t.Errorf("the log of the %s has a token: %.12s…", n.name, token)
		}
	}
}

// checkDump searches every row of the broker's database, and for SQLite also the files.
func (s *stack) checkDump(secrets []canary) {
	s.t.Helper()
	dump := s.dump()
	if !strings.Contains(dump, userEmail) {
		s.t.Error("the dump is not the database's")
	}
	for _, secret := range secrets {
		for _, form := range []string{secret.value, hex.EncodeToString([]byte(secret.value))} {
			if strings.Contains(dump, form) {
				s.t.Errorf("the database has %s in the clear", secret.what)
			}
		}
	}
	for _, token := range tokens.FindAllString(dump, 3) {
		s.t.Errorf("the database has a token: %.12s…", token)
	}
}

func (s *stack) dump() string {
	s.t.Helper()
	var dump strings.Builder
	if s.store == sqlite {
		for _, name := range database("broker.db") {
			content, err := os.ReadFile(s.dir + "/" + name)
			if err != nil && !os.IsNotExist(err) {
				s.t.Fatal(err)
			}
			dump.Write(content)
		}
		return dump.String()
	}
	db := s.openDB()
	var tables []string
	rows(s.t, db,
		`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`, func(r *sql.Rows) error {
			var name string
			err := r.Scan(&name)
			tables = append(tables, name)
			return err
		})
	for _, table := range tables {
		rows(s.t, db, `SELECT row_to_json(t)::text FROM "`+table+`" t`, func(r *sql.Rows) error {
			var row string
			err := r.Scan(&row)
			dump.WriteString(row + "\n")
			return err
		})
	}
	return dump.String()
}

func TestNoSecretIsInALogOrInTheDatabase(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := prepareStack(t, kind)
		s.broker.env = append(s.broker.env, "BELLHOP_LOG_LEVEL=debug")
		s.host.env = append(s.host.env, "BELLHOP_LOG_LEVEL=debug")
		s.host.start()
		s.broker.start()
		const taskPassword = "canary-task-password-77c2"
		own, err := s.user().CreateTask(t.Context(), &protocol.CreateTaskRequest{
			Title: "own URL", AgentURL: s.host.url, AgentPassword: taskPassword,
		})
		if err != nil {
			t.Fatal(err)
		}
		task := s.task("canary")
		turnOf(t, s.user(), task, "list then fail")
		s.arrived(task)
		if _, err := s.user().Send(t.Context(),
			&protocol.CheckInRequest{TaskID: own.ID, Message: "wrong password"}); err == nil {
			t.Error("a host took a wrong password")
		}
		if err := s.user().SignIn(t.Context(), userEmail, userPassword); err != nil {
			t.Error(err)
		}
		if err := s.user().SignIn(t.Context(), userEmail, userPassword+"x"); err == nil {
			t.Error("signed in with a wrong password")
		}
		s.toBroker.Set(refuse) // errors name the address that could not be reached
		turnOf(t, s.user(), task, "slow 4")
		s.toHost.Set(refuse)
		_, _ = s.user().Send(t.Context(), &protocol.CheckInRequest{TaskID: task, Message: "not delivered"})
		s.toHost.Set(pass)
		s.toBroker.Set(pass)
		s.wrongTokens(task)
		s.host.stop()
		s.broker.stop()
		secrets := append(s.canaries(task, own.ID), canary{"the task's password", taskPassword})
		s.checkLogs(secrets)
		s.checkDump(secrets)
	})
}

// wrongTokens calls the public routes with plausible but wrong tokens.
func (s *stack) wrongTokens(task string) {
	s.t.Helper()
	const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJ0YXNrSWQiOiJ4In0.c2lnbmF0dXJl"
	for _, url := range []string{
		s.broker.url + "/api/agent/webhook?token=" + jwt,
		s.broker.url + "/api/agent/webhook/renew?token=" + jwt,
		s.broker.url + "/api/tasks?token=" + s.token,
		s.host.url + "/stream/" + task + "?token=bhs_" + strings.Repeat("canary", 6),
		s.host.url + "/session?token=" + hostPassword,
	} {
		for _, method := range []string{"GET", "POST"} {
			if status := call(s.t, method, url, "Bearer "+jwt); status/100 != 4 {
				s.t.Errorf("%s with a wrong token: %d", method, status)
			}
		}
	}
}
