package app

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/crypto/seal"
	"bellhop/internal/app/agents"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// programsOnPath puts a npm that installs claude-agent-acp, and a Node.js, in front of the PATH.
func programsOnPath(t *testing.T) {
	t.Helper()
	const npm = `mkdir -p node_modules/@agentclientprotocol/claude-agent-acp/dist
cd node_modules/@agentclientprotocol/claude-agent-acp
echo '{"version":"0.49.0"}' >package.json
echo >dist/index.js
echo "added 1 package"`
	bin := t.TempDir()
	for name, script := range map[string]string{"npm": npm, "node": "echo v22.1.0"} {
		//nolint:gosec // a program
		testenv.Must(t, testenv.WriteProgram(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
}

// installingHost runs a host whose agent "acp" needs claude-agent-acp.
func installingHost(t *testing.T, isAllowed bool) *Host {
	t.Helper()
	host, err := OpenHost(HostConfig{
		Listen: "127.0.0.1:0", Password: seal.NewSecret("pw"), Data: directory(t), Agent: "fake",
		AgentsDir: filepath.Join(t.TempDir(), "not", "there", "yet"), AllowInstalls: isAllowed,
		Registry:  func(context.Context) (string, error) { return "http://127.0.0.1:1/", nil },
		File:      HostFile{Agents: map[string]agents.Entry{"acp": {Kind: "acp", Command: []string{"claude-agent-acp"}}}},
		Providers: map[string]agenthost.Provider{"fake": &providertest.Fake{}}, Log: slog.New(slog.DiscardHandler),
	})
	testenv.Must(t, err)
	running(t, host)
	return host
}

// asBroker sends a request to a host, and decodes its response.
func asBroker(t *testing.T, host *Host, method, path, body string, into any) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, host.URL+path, strings.NewReader(body))
	testenv.Must(t, err)
	r.Header.Set("Authorization", "Bearer pw")
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	testenv.Must(t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	testenv.Must(t, err)
	testenv.Must(t, json.Unmarshal(content, into))
	return response.StatusCode
}

func offeredAgent(t *testing.T, host *Host, id string) protocol.OfferedAgent {
	t.Helper()
	var offer protocol.HostOffer
	asBroker(t, host, "GET", "/offer", "", &offer)
	i := slices.IndexFunc(offer.Agents, func(a protocol.OfferedAgent) bool { return a.ID == id })
	if i < 0 {
		t.Fatalf("%+v", offer.Agents)
	}
	return offer.Agents[i]
}

func TestAHostOffersAnAgentAtOnceAfterItsInstallation(t *testing.T) { //nolint:paralleltest // programsOnPath changes the environment
	programsOnPath(t)
	host := installingHost(t, true)
	if before := offeredAgent(t, host, "acp"); before.Installed || before.Program != "claude-agent-acp" {
		t.Errorf("before: %+v", before)
	}
	var started protocol.Installation
	if status := asBroker(t, host, "POST", "/installations", `{"program":"claude-agent-acp"}`, &started); status != 200 ||
		started.State != protocol.InstallationRunning || started.Version != "0.49.0" {
		t.Fatalf("%d %+v", status, started)
	}
	for {
		var list protocol.InstallationList
		asBroker(t, host, "GET", "/installations", "", &list)
		if len(list.Installations) != 1 || list.Installations[0].ID != started.ID || !list.Allowed {
			t.Fatalf("%+v", list)
		}
		if got := list.Installations[0]; got.State == protocol.InstallationInstalled {
			if !slices.Contains(got.Lines, "added 1 package") {
				t.Errorf("lines %q", got.Lines)
			}
			break
		} else if got.State != protocol.InstallationRunning {
			t.Fatalf("%+v", got)
		}
	}
	if after := offeredAgent(t, host, "acp"); !after.Installed || after.Version != "0.49.0" {
		t.Errorf("after: %+v", after)
	}
}

func TestAHostInstallsNothingUnlessItsOperatorAllowsIt(t *testing.T) { //nolint:paralleltest // programsOnPath changes the environment
	programsOnPath(t)
	host := installingHost(t, false)
	if agent := offeredAgent(t, host, "acp"); agent.Program != "" || agent.Installed {
		t.Errorf("%+v", agent)
	}
	var refused protocol.ErrorBody
	status := asBroker(t, host, "POST", "/installations", `{"program":"claude-agent-acp"}`, &refused)
	if status != 403 || refused.Code != protocol.CodeForbidden ||
		!strings.Contains(refused.Hint, "BELLHOP_HOST_ALLOW_INSTALLS") {
		t.Errorf("%d %+v", status, refused)
	}
	status = asBroker(t, host, "DELETE", "/installations/claude-agent-acp", "", &refused)
	if status != 403 || refused.Code != protocol.CodeForbidden {
		t.Errorf("%d %+v", status, refused)
	}
	var list protocol.InstallationList
	if asBroker(t, host, "GET", "/installations", "", &list); list.Allowed || len(list.Installations) != 0 {
		t.Errorf("%+v", list)
	}
}

// An entry that names another program or version would not run the installed one.
func TestOnlyWhatAnAgentWouldRunIsOfferedForInstallation(t *testing.T) {
	t.Parallel()
	config := HostConfig{
		AgentsDir: t.TempDir(), Data: t.TempDir(), AllowInstalls: true, Log: slog.New(slog.DiscardHandler),
		Registry: func(context.Context) (string, error) { return "", nil },
	}
	set, err := config.newProviders("")
	testenv.Must(t, err)
	installations, err := config.openInstallations(set.cache, nil)
	testenv.Must(t, err)
	set.installations = installations
	for rule, c := range map[string]struct {
		kind  string
		entry agents.Entry
		want  string
	}{
		"the tested version":        {"claude", agents.Entry{}, "claude"},
		"every version":             {"claude", agents.Entry{Version: "any"}, "claude"},
		"another version":           {"claude", agents.Entry{Version: "9.9.9"}, ""},
		"a program of the operator": {"claude", agents.Entry{Command: []string{"/opt/claude"}}, ""},
		"an agent of ACP that is known": {
			"acp", agents.Entry{Command: []string{"claude-agent-acp", "--x"}}, "claude-agent-acp",
		},
		"an agent of ACP that is unknown": {"acp", agents.Entry{Command: []string{"other", "--acp"}}, ""},
		"an agent of JSON lines":          {"jsonl", agents.Entry{Command: []string{"claude"}}, ""},
	} {
		if got := set.installableProgram(c.kind, c.entry); got != c.want {
			t.Errorf("%s: %q, want %q", rule, got, c.want)
		}
	}
}
