//go:build full

package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"bellhop/client"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

const publicName = "bellhop.example.com"

// proxyProgram is a reverse proxy with its configuration in deploy/proxy.
type proxyProgram struct {
	name, file string

	// run starts it with a configuration, which names addr, in the folder of the certificate. The
	// function that it returns reads all that the proxy has logged, errors too.
	run func(t *testing.T, folder, addr, configuration string) (logged func() string)
}

var proxyPrograms = []proxyProgram{
	{"nginx", "nginx.conf", func(t *testing.T, folder, addr, configuration string) func() string {
		// A site's file is part of a configuration that the package brings, which logs each request
		// with its query.
		main := writeFile(t, folder, "main.conf", fmt.Sprintf(
			"daemon off; master_process off; error_log stderr; pid %[1]s/pid; events {} http { access_log %[1]s/access.log; "+
				"client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; uwsgi_temp_path "+
				"%[1]s/u; scgi_temp_path %[1]s/s; include %[1]s/site.conf; }", folder))
		writeFile(t, folder, "site.conf", strings.ReplaceAll(configuration, "/var/log/nginx", folder))
		printed := testenv.Program{Name: "nginx", Args: []string{"-p", folder, "-c", main}, Addr: addr}.Run(t)
		return func() string {
			files, err := filepath.Glob(filepath.Join(folder, "*.log"))
			if err != nil {
				t.Fatal(err)
			}
			logged := printed()
			for _, file := range files {
				content, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				logged += string(content)
			}
			return logged
		}
	}},
	{"haproxy", "haproxy.cfg", func(t *testing.T, folder, addr, configuration string) func() string {
		file := writeFile(t, folder, "haproxy.cfg", configuration)
		return testenv.Program{Name: "haproxy", Args: []string{"-db", "-f", file}, Addr: addr}.Run(t)
	}},
	{"caddy", "Caddyfile", func(t *testing.T, folder, addr, configuration string) func() string {
		// Nothing but the port of the test is opened.
		configuration = strings.Replace(configuration, "\n{\n",
			"\n{\n admin off\n auto_https disable_redirects\n default_bind 127.0.0.1\n", 1)
		env := []string{"XDG_DATA_HOME=" + folder, "XDG_CONFIG_HOME=" + folder}
		file := writeFile(t, folder, "Caddyfile", configuration)
		return testenv.Program{Name: "caddy", Args: []string{
			"run", "--adapter", "caddyfile", "--config", file,
		}, Env: env, Addr: addr}.Run(t)
	}},
}

// The configurations of deploy/proxy work as they are, but for addresses and one time: 60 s of
// silence become 15 s, so that two comments of an idle stream show that it holds.
func TestEveryProxyConfigurationServesTheProduct(t *testing.T) {
	t.Parallel()
	for _, program := range proxyPrograms {
		t.Run(program.name, func(t *testing.T) {
			t.Parallel()
			f := newFront(t, program)
			t.Run("the console, sign-in and HSTS", f.signsIn)
			t.Run("gzip for JSON, none for streams", f.compresses)
			t.Run("a turn, as it happens", f.streamsATurn)
			t.Run("a large check-in", f.takesALargeBody)
			t.Run("no cookie for the host", f.keepsTheCookie)
			t.Run("WebSockets", f.upgrades)
			t.Run("addresses of clients", f.limitsByClient)
			t.Run("a quiet stream", f.holdsAQuietStream)
			t.Run("no query in the logs", f.logsNoQuery)
		})
	}
}

// front is a broker and a host behind a proxy.
type front struct {
	broker  *running
	host    *app.Host
	cookies *cookieLog // of requests to the host
	addr    string     // of the proxy
	url     string     // public URL of the broker
	trusted *tls.Config
	logged  func() string // all that the proxy has logged
}

func newFront(t *testing.T, program proxyProgram) *front {
	t.Helper()
	f := &front{addr: freeAddr(t)}
	_, port, err := net.SplitHostPort(f.addr)
	if err != nil {
		t.Fatal(err)
	}
	site := "https://" + net.JoinHostPort(publicName, port)
	f.url = site + "/bellhop"
	brokerAddr := freeAddr(t)
	f.broker = withUser(t, runBroker(t, app.BrokerConfig{
		StoreConfig: app.StoreConfig{
			DatabaseURL: seal.NewSecret("sqlite:" + filepath.Join(t.TempDir(), "broker.db")), Keyset: newKeyset(t),
		},
		Listen: brokerAddr, PublicURL: f.url, WebhookURL: "http://" + brokerAddr,
		TrustedProxies: []string{"127.0.0.1"}, AllowLoopback: true,
	}))
	f.host, err = app.OpenHost(app.HostConfig{
		Listen: "127.0.0.1:0", PublicURL: site + "/agents", Password: seal.NewSecret(hostPassword), Data: t.TempDir(),
		TrustedProxies: []string{"127.0.0.1"}, DemoAgent: []string{binary(t), "agent", "--stdio"},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	runUntilEnd(t, f.host.Run)

	f.cookies = logCookies(t, f.host.URL)
	folder := t.TempDir()
	f.trusted = &tls.Config{RootCAs: throwawayCertificate(t, folder, publicName), MinVersion: tls.VersionTLS12}
	f.logged = program.run(t, folder, f.addr, adapt(t, program.file, folder, [][2]string{
		{"127.0.0.1:7700", brokerAddr}, {"127.0.0.1:7701", f.cookies.addr}, {"60s", "15s"},
	}, [][2]string{
		{"listen 443", "listen " + f.addr}, {"bind :443", "bind " + f.addr}, {"https://" + publicName + " {", site + " {"},
	}))
	eventually(t, "the proxy reaches the broker", func() bool {
		resp, err := f.get(t, "/readyz", nil)
		return err == nil && resp.StatusCode == http.StatusOK
	})
	return f
}

// adapt reads a configuration and replaces the addresses of the example: all of needed, and one
// of listeners.
func adapt(t *testing.T, file, folder string, needed, listeners [][2]string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "deploy", "proxy", file))
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for _, pair := range append(needed, [2]string{"/etc/ssl/bellhop", folder}) {
		if !strings.Contains(text, pair[0]) {
			t.Fatalf("%s does not contain %s", file, pair[0])
		}
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	before := text
	for _, pair := range listeners {
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	if text == before {
		t.Fatalf("%s has no known listener", file)
	}
	return text
}

func writeFile(t *testing.T, folder, name, content string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// transport connects to the proxy by its public name, from a loopback address of its own.
func (f *front) transport(t *testing.T, from string, http2 bool) *http.Transport {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	tr := &http.Transport{
		TLSClientConfig: f.trusted.Clone(), ForceAttemptHTTP2: http2,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, f.addr)
		},
	}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// get reads a path below the broker's public URL with HTTP/2.
func (f *front) get(t *testing.T, path string, header http.Header) (*http.Response, error) {
	t.Helper()
	return f.request(t, "127.0.0.1", http.MethodGet, path, "", header)
}

// request sends a request from a loopback address; the response's body is read and closed.
func (f *front) request(t *testing.T, from, method, path, body string, header http.Header) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, f.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := f.transport(t, from, true).RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp, err
}

func (f *front) user(t *testing.T) *client.Client {
	return client.New(f.url, patient(f.broker.token, f.transport(t, "127.0.0.1", true)))
}

func (f *front) authorized() http.Header {
	return http.Header{"Authorization": {"Bearer " + f.broker.token}}
}

func (f *front) task(t *testing.T) string {
	t.Helper()
	task, err := f.user(t).CreateTask(t.Context(), &protocol.CreateTaskRequest{
		Title: "behind a proxy", AgentURL: f.host.URL, AgentPassword: hostPassword,
	})
	if err != nil {
		t.Fatal(err)
	}
	return task.ID
}

func (f *front) signsIn(t *testing.T) {
	for path, want := range map[string]int{
		"": http.StatusPermanentRedirect, "/": http.StatusOK,
		"/healthz": http.StatusOK, "/api/tasks": http.StatusUnauthorized,
	} {
		resp, err := f.get(t, path, http.Header{"Accept": {"text/html"}})
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != want || resp.ProtoMajor != 2 {
			t.Errorf("%q: %s %s", path, resp.Proto, resp.Status)
		}
	}
	site := strings.TrimSuffix(f.url, "/bellhop")
	body := fmt.Sprintf(`{"email":%q,"password":%q}`, userEmail, userPassword)
	resp, err := f.request(t, "127.0.0.1", http.MethodPost, "/api/auth/login", body, http.Header{
		"Content-Type": {"application/json"}, "Origin": {site}, "Sec-Fetch-Site": {"same-origin"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Set-Cookie"), "__Host-bellhop_session=") ||
		resp.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("sign-in: %s %v", resp.Status, resp.Header)
	}
}

func (f *front) compresses(t *testing.T) {
	for range 20 {
		f.task(t)
	}
	header := f.authorized()
	header.Set("Accept-Encoding", "gzip")
	resp, err := f.get(t, "/api/tasks", header)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("a list: %s %v", resp.Status, resp.Header)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url+"/api/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err = f.transport(t, "127.0.0.1", true).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Encoding") != "" {
		t.Errorf("a feed: %s %v", resp.Status, resp.Header)
	}
}

// A question arrives while its turn waits for the answer, so the proxy holds nothing back.
func (f *front) streamsATurn(t *testing.T) {
	user, asked := f.user(t), ""
	transcript := toEnd(t, send(t, user, f.task(t), "write a.txt: hi"), func(event client.Event, _ *client.Transcript) {
		if event.Lost != nil {
			t.Errorf("the proxy cut the stream: %v", event.Lost)
		}
		if !isPart(event, protocol.PartToolApprovalRequest) {
			return
		}
		asked = event.Part.ApprovalID
		eventually(t, "the answer is taken", func() bool {
			return user.Answer(t.Context(), asked, &protocol.AnswerRequest{Approved: new(true)}) == nil
		})
	})
	if asked == "" || len(textsIn(transcript)) == 0 {
		t.Errorf("asked %q, texts %q", asked, textsIn(transcript))
	}
}

func (f *front) takesALargeBody(t *testing.T) {
	body := fmt.Sprintf(`{"taskId":"unknown","message":%q}`, strings.Repeat("x", protocol.MaxCheckIn-100))
	header := f.authorized()
	header.Set("Content-Type", "application/json")
	resp, err := f.request(t, "127.0.0.1", http.MethodPost, "/api/agent", body, header)
	if err != nil {
		t.Fatal(err)
	}
	// The answer is the broker's, which has read the request.
	if resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusBadRequest {
		t.Errorf("got %s", resp.Status)
	}
}

func (f *front) upgrades(t *testing.T) {
	task := f.task(t)
	answer, err := f.user(t).CheckIn(t.Context(), &protocol.CheckInRequest{TaskID: task, Message: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	address := "wss://" + strings.TrimPrefix(strings.TrimSuffix(f.url, "/bellhop"), "https://") + "/agents/ws/" +
		answer.SessionID + "?token=" + answer.StreamToken
	conn, resp, err := websocket.Dial(t.Context(), address, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: f.transport(t, "127.0.0.1", false)},
	})
	if err != nil {
		t.Fatalf("%v %v", err, resp)
	}
	defer func() { _ = conn.CloseNow() }()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"unknown"}`)); err != nil {
		t.Fatal(err)
	}
	if _, line, err := conn.Read(t.Context()); err != nil || !strings.HasPrefix(string(line), "{") {
		t.Errorf("got %q, %v", line, err)
	}
}

// Wrong passwords from one client do not lock another client out, and a client cannot choose the
// address that it is known by.
func (f *front) limitsByClient(t *testing.T) {
	try := func(from, password string) int {
		t.Helper()
		body := fmt.Sprintf(`{"email":%q,"password":%q}`, userEmail, password)
		resp, err := f.request(t, from, http.MethodPost, "/api/auth/login", body, http.Header{
			"Content-Type": {"application/json"}, "X-Forwarded-For": {"203.0.113." + fmt.Sprint(len(password))},
		})
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	tried, status := 0, 0
	for status != http.StatusTooManyRequests && tried < 30 {
		status = try("127.0.0.2", strings.Repeat("x", 2000+tried))
		tried++
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("%d attempts of one client were not limited: %d", tried, status)
	}
	if status = try("127.0.0.3", userPassword); status != http.StatusOK {
		t.Errorf("the user is locked out: %d", status)
	}
}

func (f *front) holdsAQuietStream(t *testing.T) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url+"/api/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = f.authorized()
	resp, err := f.transport(t, "127.0.0.1", true).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	comments := 0
	for lines := bufio.NewScanner(resp.Body); comments < 2; {
		if !lines.Scan() {
			t.Fatalf("the proxy cut a stream after %d comments: %v", comments, lines.Err())
		}
		if lines.Text() == ": ping" {
			comments++
		}
	}
}
