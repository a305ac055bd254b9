package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outside is a proxy with one client, the target of its requests, and the refused targets.
type outside struct {
	*testing.T
	socket string
	target *httptest.Server // 127.0.0.1
	client Client

	mu      sync.Mutex
	refused []string
	asked   []string
	answer  bool
}

const line = `{"agent":"one"}`

// newOutside starts a proxy. In entries and routes TARGET stands for the target's address.
func newOutside(t *testing.T, entries ...string) *outside {
	t.Helper()
	o := &outside{T: t, socket: filepath.Join(t.TempDir(), "s")}
	o.target = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s %s %s", r.Host, r.URL, r.Header)
	}))
	t.Cleanup(o.target.Close)
	for i := range entries {
		entries[i] = strings.ReplaceAll(entries[i], "TARGET", o.address())
		entries[i] = strings.ReplaceAll(entries[i], "PORT", o.port())
	}
	rules, err := ParseRules(entries)
	must(t, err)
	o.client = Client{Name: "one", Rules: rules}
	server := New(Options{
		Client: func(got string) (Client, error) {
			if got != line {
				return Client{}, errors.New("unknown")
			}
			return o.client, nil
		},
		Ask: func(_ context.Context, _, target string) bool {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.asked = append(o.asked, target)
			return o.answer
		},
		Refused: func(_, target string) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.refused = append(o.refused, target)
		},
	})
	listener, err := net.Listen("unix", o.socket)
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		must(t, server.Close())
		must(t, <-done)
	})
	return o
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (o *outside) address() string { return strings.TrimPrefix(o.target.URL, "http://") }

func (o *outside) port() string { return o.address()[strings.LastIndexByte(o.address(), ':')+1:] }

// dial connects to the proxy as a launcher does.
func (o *outside) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", o.socket)
	if err == nil {
		_, err = conn.Write([]byte(line + "\n"))
	}
	return conn, err
}

// send writes a request as it is and returns status and body of the answer.
func (o *outside) send(request string) (int, string) {
	o.Helper()
	conn, err := o.dial(o.Context(), "", "")
	must(o.T, err)
	defer conn.Close()
	_, err = conn.Write([]byte(strings.ReplaceAll(request, "\n", "\r\n")))
	must(o.T, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(o.T, err)
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK && strings.HasPrefix(request, "CONNECT") {
		return response.StatusCode, ""
	}
	body, err := io.ReadAll(response.Body)
	must(o.T, err)
	return response.StatusCode, string(body)
}

// Both ways through the proxy are checked by name and by address: a list that looks at
// CONNECT alone lets plain HTTP pass.
func TestEachWayIsCheckedByNameAndAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entries []string
		target  string
		want    int
	}{
		"nothing is listed":                        {nil, "TARGET", 403},
		"an address is listed":                     {[]string{"127.0.0.1"}, "TARGET", 200},
		"an address with its port is listed":       {[]string{"TARGET"}, "TARGET", 200},
		"an address with another port":             {[]string{"127.0.0.1:1"}, "TARGET", 403},
		"a network is listed":                      {[]string{"127.0.0.0/8"}, "TARGET", 200},
		"a name leads to a loopback address":       {[]string{"localhost:PORT"}, "localhost:PORT", 403},
		"a name and its address are listed":        {[]string{"localhost:PORT", "127.0.0.0/8", "::1"}, "localhost:PORT", 200},
		"an address alone does not list its names": {[]string{"127.0.0.0/8", "::1"}, "localhost:PORT", 403},
		"a name is listed without this port":       {[]string{"localhost", "127.0.0.0/8"}, "localhost:PORT", 403},
		"a name in upper case":                     {[]string{"LocalHost:PORT", "127.0.0.0/8", "::1"}, "LOCALHOST:PORT", 200},
		"an address in an unusual notation":        {[]string{"*.example.org"}, "2130706433:PORT", 403},
		"a loopback address as IPv6":               {[]string{"example.org"}, "[::ffff:127.0.0.1]:PORT", 403},
		"the metadata of a cloud":                  {[]string{"example.org"}, "169.254.169.254:80", 403},
		"no address":                               {[]string{"example.org"}, "0.0.0.0:PORT", 403},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOutside(t, c.entries...)
			target := strings.NewReplacer("TARGET", o.address(), "PORT", o.port()).Replace(c.target)
			if status, body := o.send("GET http://" + target + "/x HTTP/1.1\nHost: " + target +
				"\nConnection: close\n\n"); status != c.want {
				t.Errorf("plain: %d %s", status, body)
			}
			if status, body := o.send("CONNECT " + target + " HTTP/1.1\nHost: " + target + "\n\n"); status != c.want {
				t.Errorf("CONNECT: %d %s", status, body)
			}
			want := []string{target, target}
			if c.want == http.StatusOK {
				want = nil
			}
			if !slices.Equal(o.refused, want) {
				t.Errorf("refused %q, want %q", o.refused, want)
			}
		})
	}
}

// A request is forwarded to the target of its request line: another Host header reaches
// neither the check nor the target.
func TestAHostHeaderDoesNotChooseTheTarget(t *testing.T) {
	t.Parallel()
	o := newOutside(t, "TARGET")
	status, body := o.send("GET " + o.target.URL + "/x HTTP/1.1\nHost: allowed.example.org\nConnection: close\n\n")
	if status != http.StatusOK || !strings.HasPrefix(body, o.address()+" /x ") {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := o.send("GET http://other.example.org/ HTTP/1.1\nHost: " + o.address() +
		"\n\n"); status != http.StatusForbidden {
		t.Errorf("another target: %d", status)
	}
}

// The second request of a connection is checked like the first.
func TestEachRequestOfAConnectionIsChecked(t *testing.T) {
	t.Parallel()
	o := newOutside(t, "TARGET")
	conn, err := o.dial(t.Context(), "", "")
	must(t, err)
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for _, c := range []struct {
		target string
		want   int
	}{{o.target.URL, 200}, {"http://127.0.0.2:1", 403}, {o.target.URL, 200}} {
		_, err := fmt.Fprintf(conn, "GET %s/ HTTP/1.1\r\nHost: x\r\n\r\n", c.target)
		must(t, err)
		response, err := http.ReadResponse(reader, nil)
		must(t, err)
		_, err = io.Copy(io.Discard, response.Body)
		must(t, err)
		if response.StatusCode != c.want {
			t.Errorf("%s: %d", c.target, response.StatusCode)
		}
	}
}

func TestATunnelForwardsTLS(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	target := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	defer target.Close()
	o.client.Rules, _ = ParseRules([]string{target.Listener.Addr().String()})
	client := &http.Client{Transport: &http.Transport{
		Proxy:       http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy"}),
		DialContext: o.dial,
		TLSClientConfig: &tls.Config{
			RootCAs: target.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS12,
		},
	}}
	defer client.CloseIdleConnections()
	long := strings.Repeat("x", 1<<20)
	response, err := client.Post(target.URL, "text/plain", strings.NewReader(long))
	must(t, err)
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != long {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}

// The key of a model is added outside. Keys that the program sends do not pass: they could
// be another account's.
func TestAModelsKeyIsAddedOutside(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	base, err := url.Parse(o.target.URL + "/base")
	must(t, err)
	o.client.Routes = []Route{
		{Name: "openai", Base: base, Headers: map[string]string{"Authorization": "Bearer canary"}},
		{Name: "keyless", Base: base},
	}
	for request, want := range map[string]string{
		"GET /openai/v1/models?key=theirs&a=b": "/base/v1/models?a=b map[Authorization:[Bearer canary]]",
		"GET /keyless/v1":                      "/base/v1 map[X-Api-Key:[theirs] X-Goog-Api-Key:[theirs]]",
		"GET /openai/a%20b":                    "/base/a%20b map[Authorization:[Bearer canary]]",
	} {
		status, body := o.send(request +
			" HTTP/1.1\nHost: x\nAuthorization: Bearer theirs\nX-Api-Key: theirs\nx-goog-api-key: theirs\nConnection: " +
			"close, Authorization\n\n")
		if status != http.StatusOK || body != o.address()+" "+want {
			t.Errorf("%s: %d %s", request, status, body)
		}
	}
	for _, path := range []string{"/other/v1", "/", "/openai2/v1"} {
		if status, _ := o.send("GET " + path + " HTTP/1.1\nHost: x\n\n"); status != http.StatusForbidden {
			t.Errorf("%s: %d", path, status)
		}
	}
	for _, path := range []string{"/openai/../x", "/openai/%2e%2e/x", "/openai/a/%2E%2E%5c..", `/openai/..%5cx`} {
		if status, _ := o.send("GET " + path + " HTTP/1.1\nHost: x\n\n"); status != http.StatusBadRequest {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// Models answer before they have read the whole request, and Gemini CLI's streams broke off then.
func TestAnAnswerMayBeginBeforeTheRequestEnds(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"the gateway": "/openai/v1", "plain HTTP": "http://TARGET/v1"} {
		t.Run(name, func(t *testing.T) {
			o := newOutside(t, "TARGET")
			o.target.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).EnableFullDuplex()
				_, _ = io.WriteString(w, "begins, ")
				_ = http.NewResponseController(w).Flush()
				n, _ := io.Copy(io.Discard, r.Body)
				_, _ = fmt.Fprintf(w, "read %d", n)
			})
			base, err := url.Parse(o.target.URL)
			must(t, err)
			o.client.Routes = []Route{{Name: "openai", Base: base}}
			conn, err := o.dial(t.Context(), "", "")
			must(t, err)
			defer conn.Close()
			path := strings.ReplaceAll(path, "TARGET", o.address())
			_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf ", path)
			must(t, err)
			must(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			must(t, err)
			defer response.Body.Close()
			_, err = io.WriteString(conn, "other")
			must(t, err)
			body, err := io.ReadAll(response.Body)
			if err != nil || string(body) != "begins, read 10" {
				t.Errorf("%q, %v", body, err)
			}
		})
	}
}

// Only the launcher writes the first line; a connection without a known one gets nothing.
func TestAnUnknownClientGetsNothing(t *testing.T) {
	t.Parallel()
	o := newOutside(t, "TARGET")
	for name, start := range map[string]string{"none": "", "another": "{}\n", "too long": strings.Repeat("x", 2*maxLine)} {
		conn, err := net.Dial("unix", o.socket)
		must(t, err)
		_, _ = io.WriteString(conn, start+"GET "+o.target.URL+"/ HTTP/1.1\r\nHost: x\r\n\r\n\r\n")
		answer, _ := io.ReadAll(io.LimitReader(conn, 64))
		_ = conn.Close()
		if strings.Contains(string(answer), " 200 ") {
			t.Errorf("%s: %s", name, answer)
		}
	}
}

func TestWrongEntriesAreRefused(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{
		"", " ", "https://example.org", "example.org/path", "example.org:0", "example.org:99999", "example.org:https", "*",
		"*.", "a.*.b", "-a.org", "a..b", "10.0.0.0/33", "127.1", "0x7f.1", "2130706433", "ex ample.org",
		"user@example.org", "*example.org",
	} {
		if _, err := ParseRules([]string{entry}); protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

func TestNamesOfRules(t *testing.T) {
	t.Parallel()
	rules, err := ParseRules([]string{"example.org", "*.example.net", "api.example.com:8443"})
	must(t, err)
	for target, want := range map[string]bool{
		"example.org:443": true, "example.org:80": true, "EXAMPLE.org.:443": true, "example.org:22": false,
		"a.example.org:443": false, "a.example.net:443": true, "a.b.example.net:80": true, "example.net:443": false,
		"badexample.net:443": false, "api.example.com:8443": true, "api.example.com:443": false, "1.1.1.1:443": false,
	} {
		host, port, err := net.SplitHostPort(target)
		must(t, err)
		var number uint16
		_, err = fmt.Sscan(port, &number)
		must(t, err)
		if got := rules.check(host, number) == nil; got != want {
			t.Errorf("%s: %v", target, got)
		}
	}
}
