package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/agenthost/sandbox"
	"bellhop/internal/app/agents"
	"bellhop/internal/process"
	"bellhop/internal/testenv"
)

// getVariable makes this test binary a program that requests the URL in it, as programs of
// agents do: with the proxy of the environment. It prints the answer.
const getVariable = "BELLHOP_APP_TEST_GET"

func request(address string) error {
	client := &http.Client{Transport: &http.Transport{Proxy: proxyOf}}
	response, err := client.Get(address)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	fmt.Println(response.StatusCode)
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}

// proxyOf is http.ProxyFromEnvironment, which spares the addresses of targets here.
func proxyOf(r *http.Request) (*url.URL, error) {
	direct := strings.Split(os.Getenv("NO_PROXY"), ",")
	if proxy := os.Getenv("HTTP_PROXY"); proxy != "" && !slices.Contains(direct, r.URL.Hostname()) &&
		!slices.Contains(direct, "*") {
		return url.Parse(proxy)
	}
	return nil, nil //nolint:nilnil // no proxy
}

// get requests a URL as a program of an agent's session, with the agent's environment. It
// returns what the program printed.
func (h *confinedHost) get(agent, url string, env ...string) string {
	h.t.Helper()
	var output bytes.Buffer
	child, err := process.Start(process.Command{
		Args: []string{os.Args[0]}, Dir: h.workspace, Output: &output,
		Env: slices.Concat([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.stateDir, getVariable + "=" + url}, env),
		Confine: func(c process.Command) (process.Command, error) {
			return h.Confine(agenthost.Confined{
				Session: "s1", Agent: agent, Project: "shop", Dir: h.workspace, StateDir: h.stateDir,
			}, c)
		},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	_ = child.Wait()
	return output.String()
}

// target is a server on another address of the loopback, which stands for another machine.
func target(t *testing.T) *httptest.Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{
		Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, "%s key %s", r.URL.Path, r.Header.Get("X-Api-Key"))
		})},
	}
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func TestTheNetworkOfAnAgent(t *testing.T) {
	t.Parallel()
	one, two := target(t), target(t)
	local := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "local")
	}))
	defer local.Close()
	address := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	h := newConfinedHost(t, func(c *HostConfig) {
		c.File.Agents["free"] = agents.Entry{}
		c.File.Agents["none"] = agents.Entry{}
		c.File.Agents["listed"] = agents.Entry{}
		c.File.Sandbox = SandboxFile{
			Network: sandbox.NetworkProxy,
			Agents: map[string]SandboxPaths{
				"free": {Network: sandbox.NetworkOpen}, "none": {Network: sandbox.NetworkNone},
				"listed": {Allow: []string{address(one), address(local)}},
			},
			Projects: map[string]SandboxPaths{"shop": {Allow: []string{address(two)}}},
		}
	})
	var shown []string
	h.refused.showWith(func(session, target string) { shown = append(shown, session+" "+target) })
	for _, c := range []struct{ agent, url, want string }{
		{"listed", one.URL, "200\n"},
		{"listed", two.URL, "200\n"}, // the project lists it
		{"listed", local.URL, "200\nlocal"},
		{"", two.URL, "200\n"}, // a command of the project
		{"", one.URL, "403\nBellhop: " + address(one) + " is not allowed."},
		{"", one.URL, "403\n"},
		{"", local.URL, ""},
		{"none", two.URL, ""},
		{"none", local.URL, ""},
		{"free", one.URL, "200\n"},
	} {
		if got := h.get(c.agent, c.url); c.want == "" && !strings.Contains(got, "connect: ") ||
			!strings.HasPrefix(got, c.want) {
			t.Errorf("%s to %s: %s", c.agent, c.url, got)
		}
	}
	status, err := json.Marshal(h.Status())
	if err != nil || !strings.Contains(string(status), `"project":"shop","target":"`+address(one)+`","count":2`) {
		t.Errorf("%s, %v", status, err)
	}
	if !slices.Equal(shown, []string{"s1 " + address(one)}) {
		t.Errorf("shown: %q", shown)
	}
}

// A name that is not listed is asked about, of the program's own session, if the file wants that.
func TestUsersAllowUnlistedNames(t *testing.T) { //nolint:paralleltest // it replaces the resolver
	testenv.Resolve(t, func(string) []string { return []string{"127.0.0.2"} })
	one := target(t)
	port := one.URL[strings.LastIndexByte(one.URL, ':'):]
	for name, c := range map[string]struct {
		ask   bool
		want  string
		asked []string
	}{
		"asked":      {true, "200\n", []string{"s1 shop.example" + port, "s1 other.example" + port}},
		"by default": {false, "403\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newConfinedHost(t, func(config *HostConfig) {
				config.File.Agents["listed"] = agents.Entry{}
				config.File.Sandbox = SandboxFile{Network: sandbox.NetworkProxy, Ask: c.ask, Allow: []string{"127.0.0.2"}}
			})
			url := "http://shop.example" + port
			if got := h.get("listed", url); !strings.HasPrefix(got, "403\n") {
				t.Errorf("before a session can be asked: %s", got)
			}
			var mu sync.Mutex
			var asked []string
			h.askWith(func(_ context.Context, session, target string) bool {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, session+" "+target)
				return strings.HasPrefix(target, "shop.")
			})
			if got := h.get("listed", url); !strings.HasPrefix(got, c.want) {
				t.Errorf("the allowed name: %s", got)
			}
			if got := h.get("listed", "http://other.example"+port); !strings.HasPrefix(got, "403\n") {
				t.Errorf("the other name: %s", got)
			}
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(asked, c.asked) {
				t.Errorf("asked: %q, want %q", asked, c.asked)
			}
		})
	}
}

// A program cannot go around the proxy by its variables.
func TestVariablesDoNotOpenTheNetwork(t *testing.T) {
	t.Parallel()
	one := target(t)
	h := newConfinedHost(t, nil)
	if got := h.get("", one.URL); !strings.HasPrefix(got, "403\n") {
		t.Errorf("by the proxy: %s", got)
	}
	// The agent's own variables come first, so that they have no effect; without any, the
	// program finds no way.
	if got := h.get("", one.URL, "NO_PROXY=*", "HTTP_PROXY="+one.URL); !strings.HasPrefix(got, "403\n") {
		t.Errorf("with NO_PROXY: %s", got)
	}
	if h.shell("", "unset HTTP_PROXY http_proxy; exec git ls-remote "+one.URL+"/x") {
		t.Error("without a proxy")
	}
}

func TestAModelsKeyStaysOutsideOfTheSandbox(t *testing.T) {
	t.Parallel()
	model := target(t)
	var c *HostConfig
	h := newConfinedHost(t, func(config *HostConfig) {
		c = config
		config.AgentEnv = map[string]string{"ANTHROPIC_API_KEY": "canary-host", "ANTHROPIC_BASE_URL": model.URL + "/base"}
		config.File.Agents["claude"] = agents.Entry{Env: map[string]string{"ANTHROPIC_API_KEY": "canary-own"}}
	})
	c.sandbox = h.hostSandbox
	set := providerSet{config: *c}
	kind, _ := agents.Find("claude")
	env := set.env("claude", kind, c.File.Agents["claude"])
	base := stdio.Lookup(env, "ANTHROPIC_BASE_URL")
	if strings.Contains(strings.Join(env, " "), "canary") || stdio.Lookup(env, "ANTHROPIC_API_KEY") != keptKey ||
		base != "http://127.0.0.1:3128/anthropic" {
		t.Errorf("%q", env)
	}
	if got := h.get("claude", base+"/v1/messages", env...); got != "200\n/base/v1/messages key canary-own" {
		t.Errorf("got %s", got)
	}
	if got := h.get("codex", base+"/v1/messages", env...); !strings.HasPrefix(got, "403\n") {
		t.Errorf("another agent's model: %s", got)
	}
	if got := h.get("claude", model.URL+"/base", env...); !strings.HasPrefix(got, "403\n") {
		t.Errorf("around the gateway: %s", got)
	}
}

func TestModelAccess(t *testing.T) {
	t.Parallel()
	const key = "canary"
	for name, c := range map[string]struct {
		kind          string
		env           []string
		routes, names string
		ports         []int
		keeps         bool // the key is inside
	}{
		"a key":   {"claude", []string{"ANTHROPIC_API_KEY=" + key}, "anthropic", "", nil, false},
		"a token": {"claude", []string{"ANTHROPIC_AUTH_TOKEN=" + key}, "anthropic", "", nil, false},
		"a login": {
			"claude",
			[]string{"CLAUDE_CODE_OAUTH_TOKEN=" + key},
			"",
			"api.anthropic.com console.anthropic.com platform.claude.com", nil, true,
		},
		"two keys": {
			"opencode",
			[]string{"ANTHROPIC_API_KEY=" + key, "OPENAI_API_KEY=" + key, "GEMINI_API_KEY=x"},
			"anthropic openai",
			"generativelanguage.googleapis.com oauth2.googleapis.com cloudcode-pa.googleapis.com openrouter.ai", nil, false,
		},
		"a server of this machine": {
			"acp",
			[]string{
				"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=http://localhost:8080/v1", "ANTHROPIC_API_KEY=x",
				"GEMINI_API_KEY=x", "OPENROUTER_API_KEY=x",
			},
			"",
			"api.anthropic.com console.anthropic.com platform.claude.com generativelanguage.googleapis.com " +
				"oauth2.googleapis.com cloudcode-pa.googleapis.com openrouter.ai",
			[]int{8080},
			true,
		},
		"a server of another": {
			"jsonl",
			[]string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=https://models.example.org"},
			"",
			"models.example.org:443", nil, true,
		},
		"nothing": {"jsonl", nil, "", "", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			kind, _ := agents.Find(c.kind)
			got, err := newModelAccess(kind, c.env)
			if err != nil {
				t.Fatal(err)
			}
			var routes []string
			for _, route := range got.routes {
				routes = append(routes, route.Name)
			}
			if strings.Join(routes, " ") != c.routes || strings.Join(got.names, " ") != c.names ||
				!slices.Equal(got.ports, c.ports) ||
				strings.Contains(strings.Join(got.env, " "), key) != c.keeps {
				t.Errorf("%q %q %v %q", routes, got.names, got.ports, got.env)
			}
		})
	}
	kind, _ := agents.Find("claude")
	if _, err := newModelAccess(kind, []string{"ANTHROPIC_BASE_URL=example.org"}); err == nil {
		t.Error("an address that is no URL")
	}
}

func TestNetworksOfTheHostFile(t *testing.T) {
	t.Parallel()
	file, err := readHostFile(t, `
agents: {mine: {command: [/bin/true]}}
projects: {shop: /tmp}
sandbox:
  network: proxy
  allow: [example.org]
  agents: {mine: {network: none}, claude: {allow: ["*.example.net"]}}
  projects: {shop: {allow: [10.0.0.0/8]}}
`)
	if err != nil || !file.Sandbox.options().NeedsNetwork ||
		!slices.Equal(file.Sandbox.listed("claude", "shop"), []string{"example.org", "*.example.net", "10.0.0.0/8"}) {
		t.Errorf("%+v, %v", file.Sandbox, err)
	}
	if empty, err := readHostFile(t, "sandbox: on"); err != nil || empty.Sandbox.options().NeedsNetwork {
		t.Errorf("%+v, %v", empty.Sandbox, err)
	}
	for name, c := range map[string]struct{ content, want string }{
		"an unknown network": {"sandbox: {network: closed}", `there is no network "closed"`},
		"an unknown one of an agent": {
			"sandbox: {agents: {claude: {network: vpn}}}", `there is no network "vpn" for the agent claude`,
		},
		"a project's network": {
			"projects: {shop: /tmp}\nsandbox: {projects: {shop: {network: none}}}", "the project shop names a network",
		},
		"without a sandbox": {"sandbox: {mode: off, network: proxy}", "needs namespaces"},
		"without namespaces": {
			"sandbox: {namespaces: false, agents: {claude: {network: none}}}", "needs namespaces",
		},
		"targets of an open network": {"sandbox: {network: open, allow: [example.org]}", "has no effect"},
		"targets without a network": {
			"sandbox: {agents: {claude: {network: none, allow: [example.org]}}}", "has no effect",
		},
		"a URL as a target": {"sandbox: {allow: ['https://example.org']}", "is no target"},
		"a wrong target of a project": {
			"projects: {shop: /tmp}\nsandbox: {projects: {shop: {allow: ['*']}}}", "is no target",
		},
		"a target that is not a list ": {"sandbox: {allow: example.org}", "cannot unmarshal"},
	} {
		if _, err := readHostFile(t, c.content); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// --no-sandbox is stronger than a network of the file.
func TestWithoutASandboxTheNetworkIsOpen(t *testing.T) {
	t.Parallel()
	one := target(t)
	h := newConfinedHost(t, func(c *HostConfig) {
		c.NoSandbox, c.Log = true, slog.New(slog.DiscardHandler)
		c.File.Sandbox.Network = sandbox.NetworkProxy
	})
	if got := h.get("", one.URL); !strings.HasPrefix(got, "200\n") {
		t.Errorf("got %s", got)
	}
	if notices := h.Notices(); len(notices) != 1 {
		t.Errorf("notices %q", notices)
	}
}
