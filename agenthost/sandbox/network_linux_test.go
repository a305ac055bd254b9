package sandbox

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bellhop/internal/process"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// talk connects to an address, sends a line, and prints what it gets.
func talk(address string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := fmt.Fprintln(conn, "hello"); err != nil {
		return err
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, conn)
	return err
}

// echo answers each connection with what it gets, after a word. It prints "ready" first.
func echo(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	serveEcho(listener)
	return nil
}

func serveEcho(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		content, _ := io.ReadAll(conn)
		_, _ = fmt.Fprintf(conn, "got %s", content)
		_ = conn.Close()
	}
}

// echoing starts serveEcho in the test.
func echoing(t *testing.T, listener net.Listener, err error) {
	t.Helper()
	must(t, err)
	done := make(chan struct{})
	go func() { defer close(done); serveEcho(listener) }()
	t.Cleanup(func() { _ = listener.Close(); <-done })
}

func TestABridgeIsTheOnlyWayOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t, Options{})
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	echoing(t, tcp, err)
	deep := filepath.Join(m.Host, strings.Repeat("long/", 40)) // beyond the kernel's limit for socket names
	must(t, os.MkdirAll(deep, 0o700))
	path := filepath.Join(deep, "socket")
	socket, err := ListenSocket(path)
	echoing(t, socket, err)
	m.session = Session{
		Bridges: []Bridge{{Port: 7001, To: tcp.Addr().String()}, {Port: 7002, To: path, Hello: "it is me"}},
	}
	for address, want := range map[string]string{
		"127.0.0.1:7001":                "got hello\n",
		"localhost:7001":                "got hello\n",
		"127.0.0.1:7002":                "got it is me\nhello\n",
		"127.0.0.1:7003":                "",
		tcp.Addr().String():             "",
		loopback(m.Port):                "",
		"[::1]:" + strconv.Itoa(m.Port): "",
		"192.0.2.1:443":                 "",
		"169.254.169.254:80":            "",
		"[2001:db8::1]:443":             "",
	} {
		out, err := m.run(m.program, "talk", address)
		if out != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", address, out, err)
		}
	}
	// No program inside can take the place of a bridge, nor look up names.
	for _, args := range [][]string{{m.program, "echo", "127.0.0.1:7001"}, {"getent", "hosts", "example.org"}} {
		if out, err := m.run(args...); err == nil {
			t.Errorf("%q: %s", args, out)
		}
	}
}

// A server in the sandbox is reached by the other programs of its session. The machine reaches
// it if the session lists its port.
func TestAServedPortIsReachedFromOutside(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := free.Addr().String()
	port := free.Addr().(*net.TCPAddr).Port
	for name, c := range map[string]struct {
		serves []int
		want   string
	}{"a listed port": {[]int{port}, "got hello\n"}, "another port": {nil, ""}} {
		t.Run(name, func(t *testing.T) {
			_ = free.Close()
			m := newMachine(t, Options{})
			m.session.Serves, m.session.Read = c.serves, []string{m.program}
			script := m.program + " echo " + address + ` & read line; ` + m.program + " talk " + address + "; wait"
			p := m.start(script)
			stdout := bufio.NewReader(p.Stdout())
			ready, err := stdout.ReadString('\n')
			must(t, err)
			var out bytes.Buffer
			cmd := exec.CommandContext(t.Context(), m.program, "talk", address)
			cmd.Stdout = &out
			if err := cmd.Run(); ready != "ready\n" || out.String() != c.want {
				t.Errorf("%q, %q, %v", ready, out.String(), err)
			}
			_, err = p.Stdin().Write([]byte("\n"))
			must(t, err)
			if inside, err := stdout.ReadString('\n'); err != nil || inside != "got hello\n" {
				t.Errorf("inside: %q, %v; %q", inside, err, p.Tail())
			}
		})
	}
}

func TestAServedPortThatIsTakenIsReported(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	m := newMachine(t, Options{})
	m.session.Serves = []int{taken.Addr().(*net.TCPAddr).Port}
	if out, err := m.run("true"); err == nil || !strings.Contains(err.Error(), "EADDRINUSE") {
		t.Errorf("%s, %v", out, err)
	}
}

// Tools use socket files and socket pairs among themselves: build daemons, test databases,
// language servers.
func TestSocketsOfProgramsWorkInside(t *testing.T) {
	t.Parallel()
	m := newMachine(t, Options{})
	for name, path := range map[string]string{
		"workspace": m.Workspace + "/s", "temporary": "/tmp/s", "abstract": "@inside",
	} {
		if out, err := m.run(m.program, "pair", path); err != nil || out != "got hello" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}

// pair serves on a socket and connects to it.
func pair(path string) error {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	go serveEcho(listener)
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	if _, err := conn.Write([]byte("hello")); err != nil {
		return err
	}
	_ = conn.(*net.UnixConn).CloseWrite()
	_, err = io.Copy(os.Stdout, conn)
	return err
}

func TestTheNetworkOfASession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options Options
		wanted  Network
		want    Network
	}{
		"the default":           {Options{}, "", NetworkProxy},
		"that of the host":      {Options{Network: NetworkNone}, "", NetworkNone},
		"that of the session":   {Options{Network: NetworkNone}, NetworkOpen, NetworkOpen},
		"without namespaces":    {Options{NoNamespaces: true}, NetworkProxy, NetworkOpen},
		"without a sandbox":     {Options{Mode: ModeOff}, NetworkProxy, NetworkOpen},
		"the host's is open":    {Options{Network: NetworkOpen}, "", NetworkOpen},
		"only the session's is": {Options{Network: NetworkOpen}, NetworkNone, NetworkNone},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, c.options)
			if got := m.sandbox.NetworkFor(c.wanted); got != c.want {
				t.Errorf("got %s", got)
			}
			m.session.Network = c.wanted
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			echoing(t, listener, err)
			if _, err := m.run(m.program, "talk", listener.Addr().String()); (err == nil) != (c.want == NetworkOpen) {
				t.Errorf("a port of the host: %v", err)
			}
		})
	}
}

// A network that is asked for and cannot be had is no reason to run with another one.
func TestANeededNetworkThatCannotBeHadIsRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	options := Options{Self: os.Args[0], Data: data, NoNamespaces: true, NeedsNetwork: true}
	if _, err := Open(t.Context(), options); protocol.CodeOf(err) != protocol.CodeUnavailable {
		t.Errorf("got %v", err)
	}
	options.NoNamespaces = false
	s, err := Open(t.Context(), options)
	must(t, err)
	if level := s.Level(); level.Network != NetworkProxy || !slices.Contains(level.Blocked, escapeLoopback) ||
		!slices.Contains(level.Blocked, escapeNetwork) {
		t.Errorf("%+v", level)
	}
}

// The probe must reach the host over its bridge: a network that leads nowhere would leave
// agents without their models.
func TestANetworkThatLeadsNowhereIsNotUsed(t *testing.T) {
	t.Parallel()
	// The pretender is the launcher, except that it moves the bridge of the probe to another port.
	pretender := filepath.Join(t.TempDir(), "launcher")
	script := "#!/bin/sh\nspec=$(printf %s \"$2\" | sed 's/\"port\":7700/\"port\":7701/')\ncase $1 in sandbox-exec) " +
		"shift 2; exec " +
		os.Args[0] + " sandbox-exec \"$spec\" \"$@\" ;; esac\nexec " + os.Args[0] + " \"$@\"\n"
	must(t, testenv.WriteProgram(pretender, []byte(script), 0o755)) //nolint:gosec // a program
	s, err := Open(t.Context(), Options{Self: pretender, Data: t.TempDir(), Read: []string{filepath.Dir(os.Args[0])}})
	must(t, err)
	if level := s.Level(); !level.Namespaces || level.Network != NetworkOpen ||
		!strings.Contains(level.NoNetwork, errNoBridge) {
		t.Errorf("%+v", level)
	}
	if !strings.Contains(s.Level().Summary(), "without a network of their own") {
		t.Error(s.Level().Summary())
	}
}

// command returns a command of the machine's session, which Confine puts into the sandbox.
func (m *machine) command(args ...string) process.Command {
	session := m.session
	session.Name = "s1"
	session.Home, session.Write = m.Home, append(slices.Clone(session.Write), m.Workspace)
	return process.Command{
		Args: args, Dir: m.Workspace, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.Home},
		Confine: func(c process.Command) (process.Command, error) { return m.sandbox.Confine(session, c) },
	}
}
