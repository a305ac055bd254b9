package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/agenthost/sandbox"
	"bellhop/internal/app/agents"
	"bellhop/internal/egress"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// proxyPort is the port of the proxy in a program's own network.
const proxyPort = 3128

// keptKey is what programs get in place of a key that the gateway adds.
const keptKey = "kept-by-bellhop"

// modelAccess is how an agent reaches its models.
type modelAccess struct {
	env    []string       // for its programs; keys of routes are not in it
	routes []egress.Route // of the gateway
	names  []string       // that its programs connect to themselves
	ports  []int          // of the loopback, the same
}

// modelAccess returns how an agent with this environment reaches its models when it has a
// network of its own. CodeInvalid: the address of a model is no URL.
func newModelAccess(kind agents.Agent, env []string) (modelAccess, error) {
	access := modelAccess{env: slices.Clone(env)}
	for _, api := range agents.AllModelAPIs() {
		if err := access.add(kind, api); err != nil {
			return modelAccess{}, err
		}
	}
	return access, nil
}

func (m *modelAccess) add(kind agents.Agent, api agents.ModelAPI) error {
	address := ""
	if api.Address != "" {
		address = stdio.Lookup(m.env, api.Address)
	}
	headers := map[string]string{}
	for _, key := range api.Keys {
		if value := stdio.Lookup(m.env, key.Variable); value != "" {
			headers[key.Header] = key.Prefix + value
		}
	}
	isKnown := slices.ContainsFunc(kind.ModelAPIs(), func(a agents.ModelAPI) bool { return a.Name == api.Name })
	if address == "" && len(headers) == 0 {
		if isKnown { // a login
			m.names = append(m.names, api.Names...)
		}
		return nil
	}
	base, err := parseModelURL(api, cmp.Or(address, api.URL))
	if err != nil {
		return err
	}
	switch {
	case kind.TakesAddress(api):
		m.addRoute(api, base, headers)
	case address == "":
		m.names = append(m.names, api.Names...)
	default:
		m.addTarget(base)
	}
	return nil
}

func parseModelURL(api agents.ModelAPI, address string) (*url.URL, error) {
	if address == "" {
		return &url.URL{}, nil
	}
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("%s is no URL of a model", api.Address),
			Hint: "Write http:// or https://, a host, and perhaps a port and a path.",
		}
	}
	return base, nil
}

// addRoute lets the gateway reach the model, and takes the keys from the environment.
func (m *modelAccess) addRoute(api agents.ModelAPI, base *url.URL, headers map[string]string) {
	m.routes = append(m.routes, egress.Route{Name: api.Name, Base: base, Headers: headers})
	m.set(api.Address, "http://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(proxyPort))+"/"+api.Name)
	for _, key := range api.Keys {
		if stdio.Lookup(m.env, key.Variable) != "" {
			m.set(key.Variable, keptKey)
		}
	}
}

// set replaces every value of a variable: a second one would stay readable.
func (m *modelAccess) set(name, value string) {
	m.env = slices.DeleteFunc(m.env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	m.env = append(m.env, name+"="+value)
}

// addTarget lets the programs themselves reach the model at an address that the operator has
// configured.
func (m *modelAccess) addTarget(base *url.URL) {
	port := base.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[base.Scheme]
	}
	target := net.JoinHostPort(base.Hostname(), port)
	if local := loopbackPort(target); local != 0 {
		m.ports = append(m.ports, local)
		return
	}
	m.names = append(m.names, target)
}

// loopbackPort returns the port of a target on this machine's loopback, 0 for others.
func loopbackPort(target string) int {
	host, portText, err := net.SplitHostPort(target)
	if err != nil {
		return 0
	}
	if host != "localhost" && host != "127.0.0.1" { // bridges lead to this address
		return 0
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return 0
	}
	return int(port)
}

// proxyVariables make programs use the proxy, except for their own loopback.
func proxyVariables() []string {
	address := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(proxyPort))
	const direct = "localhost,127.0.0.1,::1"
	return []string{
		"HTTP_PROXY=" + address, "HTTPS_PROXY=" + address, "NO_PROXY=" + direct,
		"http_proxy=" + address, "https_proxy=" + address, "no_proxy=" + direct,
		"NODE_USE_ENV_PROXY=1", // Node.js has its own fetch, which does not look at the others
	}
}

// networkClient is the first line of a connection to the proxy, as JSON.
type networkClient struct {
	Session string `json:"session,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Project string `json:"project,omitempty"`
}

// clientOf returns what the programs of a connection may reach.
func (s *hostSandbox) clientOf(line string) (egress.Client, error) {
	var c networkClient
	if err := json.Unmarshal([]byte(line), &c); err != nil {
		return egress.Client{}, fmt.Errorf("a connection of no session: %w", err)
	}
	access := s.access[c.Agent]
	entries := slices.Concat(access.names, s.file.Sandbox.listed(c.Agent, c.Project))
	rules, err := egress.ParseRules(entries)
	return egress.Client{Name: cmp.Or(c.Agent, "command"), Rules: rules, Routes: access.routes}, err
}

// asker asks the user of a session about a target of the network.
type asker func(ctx context.Context, session, target string) bool

// askWith sets what asks users about unlisted targets, if the file wants that.
func (s *hostSandbox) askWith(ask asker) {
	if s.file.Sandbox.Ask {
		s.asker.Store(&ask)
	}
}

// ask is for egress.Options.Ask.
func (s *hostSandbox) ask(ctx context.Context, line, target string) bool {
	var c networkClient
	_ = json.Unmarshal([]byte(line), &c) // it was read before
	ask := s.asker.Load()
	return ask != nil && c.Session != "" && (*ask)(ctx, c.Session, target)
}

// connect gives a session's programs their ways out of a network of their own.
func (s *hostSandbox) connect(session *sandbox.Session, to agenthost.Confined, c *process.Command) error {
	session.Network, session.Serves = s.networkOf(to.Agent), c.Listens
	if session.Network == sandbox.NetworkOpen {
		return nil
	}
	ports := slices.Clone(c.Dials)
	if s.localPort != 0 {
		ports = append(ports, s.localPort)
	}
	if session.Network == sandbox.NetworkProxy {
		line, err := json.Marshal(networkClient{Session: to.Session, Agent: to.Agent, Project: to.Project})
		if err != nil {
			return err
		}
		session.Bridges = append(session.Bridges, sandbox.Bridge{Port: proxyPort, To: s.socket, Hello: string(line)})
		c.Env = slices.Concat(c.Env, proxyVariables())
		ports = append(ports, s.access[to.Agent].ports...)
		for _, entry := range s.file.Sandbox.listed(to.Agent, to.Project) {
			if port := loopbackPort(entry); port != 0 {
				ports = append(ports, port)
			}
		}
	}
	slices.Sort(ports)
	for _, port := range slices.Compact(ports) {
		if port != proxyPort {
			session.Bridges = append(session.Bridges, sandbox.Bridge{
				Port: port, To: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
			})
		}
	}
	if len(session.Bridges) > sandbox.MaxBridges {
		return protocol.Errorf(protocol.CodeInvalid, "sandbox: over %d ports of this machine are listed", sandbox.MaxBridges)
	}
	return nil
}

// networkOf returns the network of an agent's programs; "" are the commands of a project.
func (s *hostSandbox) networkOf(agent string) sandbox.Network {
	return s.NetworkFor(s.file.Sandbox.Agents[agent].Network)
}
