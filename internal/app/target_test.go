package app

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/agenthost/sandbox"
	"bellhop/crypto/seal"
	"bellhop/internal/app/agents"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// A program in the sandbox of a running host connects to a name that is not listed: the user of
// its session is asked, and the connection goes on after the yes.
func TestAProgramWaitsForTheUsersYes(t *testing.T) { //nolint:paralleltest // it replaces the resolver
	testenv.Resolve(t, func(string) []string { return []string{"127.0.0.2"} })
	one := target(t)
	port := one.URL[strings.LastIndexByte(one.URL, ':'):]
	programs := &confinedHost{t: t}
	var got string
	fake := &providertest.Fake{
		Play: func(context.Context, agenthost.Prompt, agenthost.Output) (agenthost.Outcome, error) {
			got = programs.get("fake", "http://shop.example"+port+"/goods")
			return agenthost.Outcome{}, nil
		},
	}
	host, err := OpenHost(HostConfig{
		Listen: "127.0.0.1:0", Password: seal.NewSecret("pw"), Data: directory(t), AgentsDir: t.TempDir(), Agent: "fake",
		File: HostFile{
			Agents:  map[string]agents.Entry{},
			Sandbox: SandboxFile{Network: sandbox.NetworkProxy, Allow: []string{"127.0.0.2"}, Ask: true},
		},
		Providers: map[string]agenthost.Provider{"fake": fake}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	running(t, host)
	h := &hostOfAda{T: t, host: host, fake: fake}
	opened, err := h.open("s1", "", "")
	if err != nil {
		t.Fatal(err)
	}
	programs.hostSandbox = host.sandbox
	if programs.workspace, programs.stateDir, err = host.workspaces.Dir(t.Context(), "s1", ""); err != nil {
		t.Fatal(err)
	}
	grant, err := host.Domain.Authorize(t.Context(), "s1", opened.Token)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := host.Domain.Start(t.Context(), grant, &protocol.PromptRequest{Prompt: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	asked := allowAll(t, host, stream)
	if asked != 1 || !strings.HasPrefix(got, "200\n/goods") {
		t.Errorf("asked %d times; the program got %q", asked, got)
	}
}

// running runs a host until the test ends.
func running(t *testing.T, host *Host) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- host.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

var approval = regexp.MustCompile(`"tool-approval-request".*"approvalId":"([^"]+)"`)

// allowAll allows all that is asked in a turn of the session s1, to its end, and returns how much that was.
func allowAll(t *testing.T, host *Host, stream *agenthost.Stream) (asked int) {
	t.Helper()
	yes := true
	for stream.Live != nil {
		data, err := stream.Live.Next(t.Context())
		if err != nil {
			return asked
		}
		found := approval.FindSubmatch(data)
		if found == nil {
			continue
		}
		asked++
		answer := &protocol.AnswerRequest{Approved: &yes}
		if err := host.Domain.Answer(t.Context(), "s1", string(found[1]), answer); err != nil {
			t.Fatal(err)
		}
	}
	return asked
}
