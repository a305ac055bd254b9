//go:build full

package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/internal/doctor"
)

// examine runs the doctor with the stack's variables; those of env replace them.
func (s *stack) examine(env ...string) (report doctor.Report, code int) {
	s.t.Helper()
	cmd := exec.Command(binary(s.t), "doctor", "--json")
	cmd.Env = append(append(baseEnv(), s.database()...), "BELLHOP_PUBLIC_URL="+s.broker.url,
		"BELLHOP_WEBHOOK_URL=http://"+s.toBroker.Addr(),
		"BELLHOP_DISK_WARNING=0")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.Output()
	if err := json.Unmarshal(out, &report); err != nil {
		s.t.Fatalf("the doctor says %s (%v)", out, err)
	}
	if err != nil {
		code = cmd.ProcessState.ExitCode()
	}
	return report, code
}

// expect runs the doctor until its report has a finding, with a remedy: on a machine that is busy,
// a request may reach its limit before that. The exit code follows the worst level.
func (s *stack) expect(t *testing.T, env []string, level doctor.Level, check, message string) {
	t.Helper()
	why := ""
	defer func() {
		if t.Failed() {
			t.Log(why)
		}
	}()
	eventually(t, fmt.Sprintf("the doctor finds %s, %s: %q", level, check, message), func() bool {
		report, code := s.examine(env...)
		why = fmt.Sprintf("exit code %d, %+v", code, report)
		listed := slices.ContainsFunc(report.Findings, func(f doctor.Finding) bool {
			return f.Check == check && f.Level == level && strings.Contains(f.Message, message) &&
				(f.Remedy == "") == (level == doctor.OK)
		})
		return listed && (code == 0) == report.OK && report.OK == (level != doctor.Error)
	})
}

func TestTheDoctorNamesMisconfigurations(t *testing.T) {
	t.Parallel()
	s := prepareStack(t, postgres)
	s.host.env = append(s.host.env, "BELLHOP_HOST_ALLOWED_ORIGINS="+s.broker.url)
	s.host.start()
	s.broker.start()
	s.expect(t, nil, doctor.OK, doctor.CheckRenewal, "arrive") // nothing is wrong
	s.expect(t, nil, doctor.Warning, doctor.CheckAgents, "no agent but the demo")
	for name, tt := range map[string]struct {
		env            func(t *testing.T) []string
		level          doctor.Level
		check, message string
	}{
		"no database": {fixed("BELLHOP_DATABASE_URL="), doctor.Error, doctor.CheckDatabase, "not set"},
		"the database is away": {
			fixed("BELLHOP_DATABASE_URL=postgres://127.0.0.1:1/bellhop"), doctor.Error,
			doctor.CheckDatabase, "",
		},
		"a read-only database": {
			fixed("BELLHOP_DATABASE_URL=" + s.dbURL + "&default_transaction_read_only=on"),
			doctor.Error, doctor.CheckDatabase, "",
		},
		"no tables":        {s.emptyDatabase, doctor.Error, doctor.CheckMigrations, "not applied"},
		"a newer database": {s.newerDatabase, doctor.Error, doctor.CheckMigrations, "newer"},
		"no keyset":        {fixed("BELLHOP_KEYSET_FILE="), doctor.Error, doctor.CheckKeyset, "not set"},
		"no keyset in the file": {func(*testing.T) []string {
			return []string{"BELLHOP_KEYSET_FILE=" + s.file("junk", "junk")}
		}, doctor.Error, doctor.CheckKeyset, "not a keyset"},
		"another keyset": {s.otherKeyset, doctor.Error, doctor.CheckKeyset, "another keyset"},
		"no host":        {s.freshDatabase, doctor.Warning, doctor.CheckHosts, "No host"},
		"little room":    {s.fullDatabase, doctor.Warning, doctor.CheckDisk, "room"},

		"a public URL of another kind": {
			fixed("BELLHOP_PUBLIC_URL=ftp://broker"), doctor.Error, doctor.CheckPublicURL,
			"no http",
		},
		"nothing at the public URL": {
			fixed("BELLHOP_PUBLIC_URL=http://127.0.0.1:1"), doctor.Error, doctor.CheckPublicURL,
			"cannot be reached",
		},
		"another server": {s.published(func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte("<html>"))
			return true
		}, nil), doctor.Error, doctor.CheckPublicURL, "Another server"},
		"a redirect": {s.published(func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Location", "https://bellhop.example.com")
			w.WriteHeader(http.StatusMovedPermanently)
			return true
		}, nil), doctor.Error, doctor.CheckPublicURL, "redirects"},
		"a certificate that no authority signed": {selfSigned, doctor.Error, doctor.CheckTLS, "not accepted"},
		"another clock": {s.published(nil, func(r *http.Response) {
			r.Header.Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		}), doctor.Error, doctor.CheckClock, "differs"},
		"an origin that the broker does not know": {
			fixed("BELLHOP_ALLOWED_ORIGINS=https://app.example.com"), doctor.Error,
			doctor.CheckOrigins, "app.example.com",
		},

		"nothing at the webhook URL": {
			fixed("BELLHOP_WEBHOOK_URL=http://127.0.0.1:1"), doctor.Error, doctor.CheckWebhooks,
			"cannot be reached",
		},
		"a proxy that limits bodies": {s.hooked(func(w http.ResponseWriter, r *http.Request) bool {
			if r.ContentLength > 100<<10 {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
			}
			return r.ContentLength > 100<<10
		}), doctor.Error, doctor.CheckWebhooks, "too large"},
		"a proxy that stops webhooks": {
			s.hooked(stops("/api/agent/webhook")), doctor.Error, doctor.CheckWebhooks,
			"not by a broker",
		},
		"a proxy that stops renewals": {
			s.hooked(stops("/api/agent/webhook/renew")), doctor.Error, doctor.CheckRenewal,
			"not by a broker",
		},

		"browsers refuse the host": {
			fixed("BELLHOP_PUBLIC_URL=https://127.0.0.1:1"), doctor.Error, doctor.CheckTLS,
			"Browsers refuse",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s.expect(t, tt.env(t), tt.level, tt.check, tt.message)
		})
	}
	s.misconfiguredHosts(t)
}

// misconfiguredHosts adds hosts that remain registered.
func (s *stack) misconfiguredHosts(t *testing.T) {
	add := func(name, url, password string) {
		run(t, append(s.database(), "BELLHOP_HOST_PASSWORD="+password), "hosts", "add", "--name", name, "--url", url)
	}
	examine := func(check, message string) {
		s.expect(t, nil, doctor.Error, check, message)
	}
	add("away", "http://127.0.0.1:1", hostPassword)
	examine(doctor.CheckHost, "cannot be reached")
	add("other-password", gateway(t, s.host.url, nil, nil), "wrong")
	examine(doctor.CheckHost, "refuses the password")
	add("no-origin", gateway(t, s.host.url, nil, func(r *http.Response) { r.Header.Del("Access-Control-Allow-Origin") }),
		hostPassword)
	examine(doctor.CheckOrigins, "Pages of http://bellhop.localhost:") // the console of this machine
	add("a-broker", s.broker.url+"/", hostPassword)
	examine(doctor.CheckHost, "not by a host")

	s.toBroker.Set(refuse)
	task := s.task("held back")
	turnOf(t, s.user(), task, "list")
	eventually(t,
		"the host reports its outbox", func() bool { return strings.Contains(s.sessionsOfHost(), "outboxError") })
	examine(doctor.CheckDelivery, "do not reach the broker")
}

func fixed(env ...string) func(*testing.T) []string {
	return func(*testing.T) []string { return env }
}

// stops answers requests of a path as a proxy does that allows only others.
func stops(path string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == path {
			w.WriteHeader(http.StatusForbidden)
		}
		return r.URL.Path == path
	}
}

func (s *stack) published(
	handle func(http.ResponseWriter, *http.Request) bool, change func(*http.Response),
) func(*testing.T) []string {
	return func(t *testing.T) []string {
		return []string{"BELLHOP_PUBLIC_URL=" + gateway(t, s.broker.url, handle, change)}
	}
}

func (s *stack) hooked(handle func(http.ResponseWriter, *http.Request) bool) func(*testing.T) []string {
	return func(t *testing.T) []string {
		return []string{"BELLHOP_WEBHOOK_URL=" + gateway(t, s.broker.url, handle, nil)}
	}
}

func selfSigned(t *testing.T) []string {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return []string{"BELLHOP_PUBLIC_URL=" + server.URL}
}

func (s *stack) otherKeyset(t *testing.T) []string {
	return []string{"BELLHOP_KEYSET_FILE=" + s.file("other-keyset", run(t, nil, "keys", "generate"))}
}

func (s *stack) emptyDatabase(t *testing.T) []string {
	return []string{"BELLHOP_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "empty.db")}
}

// freshDatabase has all tables and no host.
func (s *stack) freshDatabase(t *testing.T) []string {
	env := s.emptyDatabase(t)
	run(t, append(s.database(), env...), "migrate", "up")
	return env
}

func (s *stack) fullDatabase(t *testing.T) []string {
	return append(s.freshDatabase(t), "BELLHOP_DISK_WARNING=1000000GiB")
}

func (s *stack) newerDatabase(t *testing.T) []string {
	env := s.freshDatabase(t)
	db, err := sql.Open("sqlite3", "file:"+strings.TrimPrefix(env[0], "BELLHOP_DATABASE_URL=sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	const newer = "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)"
	if _, err := db.ExecContext(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	return env
}
