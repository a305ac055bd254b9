//go:build release

package release

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/internal/testenv"
	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
	"bellhop/internal/testenv/spans"
	"bellhop/protocol"
)

// site is a machine with a broker and a host, as its operator set them up.
type site struct {
	*machine

	t            *testing.T
	broker, host string // URLs
	token        string // of a user, who is an administrator
	traces       *spans.Collector
}

// serves runs the version before with a user's data, installs the deb package over it, and lets the user work with a
// real agent.
func serves(t *testing.T, c *Config) {
	deb := nativeFile(t, *c, ".deb")
	if version := command(t, "", "dpkg-deb", "--field", deb, "Version"); version != "9.8.7" {
		t.Errorf("version %s", version)
	}
	s := newSite(t, install(t, deb))
	command(t, "", s.args("root:root", "/usr/bin/systemd-analyze", "verify", "--man=no",
		"/usr/lib/systemd/system/bellhop-broker.service", "/usr/lib/systemd/system/bellhop-host.service")...)
	before, isOlder := s.installBefore()
	brokerUnit, hostUnit := s.unit(t, "bellhop-broker.service", before), s.unit(t, "bellhop-host.service", before)
	brokerUnit.awaitReady(t, s.broker)
	hostUnit.awaitReady(t, s.host)
	task := s.dataOf(before)

	brokerUnit.end(t)
	brokerUnit = s.unit(t, "bellhop-broker.service", program)
	brokerUnit.awaitReady(t, s.broker)
	if isOlder {
		s.namesTheOlderHost()
	}
	hostUnit.end(t)
	s.installAgent()
	hostUnit = s.unit(t, "bellhop-host.service", program)
	hostUnit.awaitReady(t, s.host)
	s.diagnosed("ok      versions: local: It runs this version, v9.8.7.", "It can run: opencode.")
	s.keepsSecrets()

	s.continues(task)
	s.worksWithTheAgent()
	hostUnit.end(t)
	brokerUnit.end(t)
	s.tracesTheTurn()
}

// newSite sets the addresses in the files of variables.
func newSite(t *testing.T, m *machine) *site {
	t.Helper()
	broker, host := address(t), address(t)
	s := &site{machine: m, t: t, broker: "http://" + broker, host: "http://" + host, traces: spans.New(t)}
	traced := []string{"BELLHOP_TRACES_URL=" + s.traces.URL, "BELLHOP_TRACES_RATIO=1"}
	m.configure(t, "broker.env", append(traced, "BELLHOP_LISTEN="+broker, "BELLHOP_PUBLIC_URL="+s.broker)...)
	m.configure(t, "host.env", append(traced, "BELLHOP_HOST_LISTEN="+host, "BELLHOP_HOST_PUBLIC_URL="+s.host,
		"BELLHOP_HOST_ALLOWED_ORIGINS="+s.broker)...)
	return s
}

// installBefore builds the version that landed before this one, and returns its path in the machine. 0.1.0 has none:
// it comes after itself.
func (s *site) installBefore() (path string, isOlder bool) {
	s.t.Helper()
	root, err := filepath.Abs("../..")
	testenv.Must(s.t, err)
	commit := testenv.VersionBefore(s.t, root)
	if commit == "" {
		s.t.Log("there is no version before this one: nothing older is upgraded")
		return program, false
	}
	source := filepath.Join(s.t.TempDir(), "before")
	command(s.t, "", "git", "clone", "--quiet", "--shared", "--no-checkout", root, source)
	command(s.t, source, "git", "checkout", "--quiet", commit)
	path = "/opt/bellhop-before"
	command(s.t, source, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-o", filepath.Join(s.root, path),
		"./cmd/bellhop")
	return path, true
}

// file writes a file of the machine that every user can read.
func (s *site) file(name, content string) string {
	s.t.Helper()
	testenv.Must(s.t, os.WriteFile(filepath.Join(s.root, name), []byte(content), 0o644)) //nolint:gosec // of this test
	return name
}

// dataOf lets an operator and a user of the version before work with the demo agent, and returns the user's task.
func (s *site) dataOf(before string) (task string) {
	s.t.Helper()
	admin := func(variable string, args ...string) string {
		const line = `set -a; . /etc/bellhop/broker.env; cd /; exec "$@"`
		return command(s.t, "", append(s.args("bellhop:bellhop", variable, "/bin/sh", "-c", line, "sh", before), args...)...)
	}
	admin("BELLHOP_USER_PASSWORD_FILE="+s.file("/tmp/password", "correct horse\n"),
		"users", "add", "--email", "ada@example.com", "--admin")
	admin("BELLHOP_HOST_PASSWORD_FILE="+s.file("/tmp/host-password", s.password()+"\n"),
		"hosts", "add", "--name", "local", "--url", s.host)
	s.token = admin("LANG=C", "tokens", "create", "--email", "ada@example.com", "--name", "story")
	s.file("/tmp/token", s.token)
	until(s.t, "the host is known as healthy", func(context.Context) bool {
		return strings.Contains(admin("LANG=C", "hosts", "list"), " ok ")
	})
	answer := s.chat(before, "--new", "Of the version before", "-m", "help")
	if !strings.Contains(answer, "not a language model") {
		s.t.Errorf("%s", answer)
	}
	list := read[protocol.TaskList](s, "/api/tasks")
	if len(list.Tasks) != 1 {
		s.t.Fatalf("%+v", list)
	}
	return list.Tasks[0].ID
}

func (s *site) password() string {
	s.t.Helper()
	password, err := os.ReadFile(filepath.Join(s.root, "etc/bellhop/host-password"))
	testenv.Must(s.t, err)
	return strings.TrimSpace(string(password))
}

// chat runs "bellhop chat" as a user of the machine.
func (s *site) chat(path string, args ...string) string {
	s.t.Helper()
	return command(s.t, "", s.args("nobody:nogroup", append([]string{
		"BELLHOP_URL=" + s.broker, "BELLHOP_TOKEN_FILE=/tmp/token", "HOME=/tmp", path, "chat",
	}, args...)...)...)
}

// read returns what the broker answers to a GET of the user.
func read[T any](s *site, path string) (answer T) {
	s.t.Helper()
	body := get(s.t.Context(), s.broker+path, s.token)
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		s.t.Fatalf("GET %s: %q, %v", path, body, err)
	}
	return answer
}

// diagnosed runs the doctor until it has findings and no error: on a machine that is busy, a request of it may reach
// its limit.
func (s *site) diagnosed(findings ...string) {
	s.t.Helper()
	s.untilDoctor(func(report string, err error) bool {
		return err == nil && !slices.ContainsFunc(findings, func(f string) bool { return !strings.Contains(report, f) })
	})
}

// namesTheOlderHost expects that of the doctor. The host was built without a version.
func (s *site) namesTheOlderHost() {
	s.t.Helper()
	s.untilDoctor(func(report string, _ error) bool {
		return strings.Contains(report, "warning versions: local: It runs another version, dev; this program is v9.8.7.")
	})
}

func (s *site) untilDoctor(done func(report string, err error) bool) {
	s.t.Helper()
	var report string
	defer func() {
		if s.t.Failed() {
			s.t.Log(report)
		}
	}()
	until(s.t, "the doctor's report", func(ctx context.Context) bool {
		var err error
		report, err = output(ctx, "", nil, s.args("root:root", "/usr/sbin/bellhop-admin", "doctor")...)
		return done(report, err)
	})
}

func (s *site) keepsSecrets() {
	s.t.Helper()
	line := s.args("bellhop-host:bellhop-host", "cat", "/etc/bellhop/keyset")
	if out, err := output(s.t.Context(), "", nil, line...); err == nil || !strings.Contains(out, "Permission denied") {
		s.t.Errorf("agents can read the broker's keyset: %s", out)
	}
}

// installAgent gives the host a real agent on the scripted model, as its default.
func (s *site) installAgent() {
	s.t.Helper()
	const name = "opencode"
	agents.Find(s.t, name) // fails with instructions
	folder := filepath.Join(s.root, "var/lib/bellhop-host/agents")
	testenv.Must(s.t, os.MkdirAll(folder, 0o700))
	command(s.t, "", "cp", "-a", filepath.Join(os.Getenv(agents.Variable), name), folder)
	command(s.t, "", s.args("root:root", "chown", "-R", "bellhop-host:bellhop-host", "/var/lib/bellhop-host/agents")...)
	i := slices.IndexFunc(agents.Subjects(), func(a agents.Subject) bool { return a.Program == name })
	subject := agents.Subjects()[i]
	s.configure(s.t, "host.env", subject.Env(mockllm.New(s.t).URL)...)
	s.file("/etc/bellhop/host.yaml", "default: "+name+"\nagents:\n  "+name+": {model: "+subject.Model+"}\n")
}

// continues expects the task of the version before, and goes on with it.
func (s *site) continues(task string) {
	s.t.Helper()
	if answer := s.chat(program, "--task", task, "-m", "help"); !strings.Contains(answer, "not a language model") {
		s.t.Errorf("%s", answer)
	}
	until(s.t, "both answers are stored", func(ctx context.Context) bool {
		body := get(ctx, s.broker+"/api/tasks/"+task+"/messages", s.token)
		return strings.Count(body, "not a language model") >= 2
	})
}

func (s *site) worksWithTheAgent() {
	s.t.Helper()
	answer := s.chat(program, "--new", "Of this version", "-m", "hello")
	if !strings.Contains(answer, "from the mock LLM.") {
		s.t.Errorf("%s", answer)
	}
	until(s.t, "the turn shows in the metrics", func(ctx context.Context) bool {
		ofHost, ofBroker := get(ctx, s.host+"/metrics", s.password()), get(ctx, s.broker+"/metrics", s.token)
		return strings.Contains(ofHost, `bellhop_turns_total{agent="opencode",result="stop"} 1`) &&
			strings.Contains(ofBroker, `bellhop_checkins_total{result="ok"} 2`)
	})
}

// tracesTheTurn expects one trace from the user's message over the agent's turn to the stored events.
func (s *site) tracesTheTurn() {
	s.t.Helper()
	path, trace := s.traces.Path("bellhop-host", "turn opencode")
	want := []string{
		"bellhop-broker POST /api/agent", "bellhop-broker check-in", "bellhop-broker call session",
		"bellhop-host POST /session", "bellhop-host turn opencode",
	}
	if !slices.Equal(path, want) {
		s.t.Errorf("the trace:\n%s\nwant:\n%s", strings.Join(path, "\n"), strings.Join(want, "\n"))
	}
	if !slices.ContainsFunc(s.traces.Spans(), func(one spans.Span) bool {
		return one.Trace == trace && one.Service == "bellhop-broker" && one.Name == "POST /api/agent/webhook"
	}) {
		s.t.Errorf("the trace %s has no request with events", trace)
	}
}
