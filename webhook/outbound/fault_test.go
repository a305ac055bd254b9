package outbound_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/crypto/seal"
	"bellhop/crypto/signature"
	"bellhop/internal/netguard"
	"bellhop/internal/testenv"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/outboundtest"
)

func TestRedirectsAreNeverFollowed(t *testing.T) {
	t.Parallel()
	p := newKit(t, outboundtest.SQLite(t))
	target := outboundtest.Receive(t, nil)
	for _, status := range []int{301, 302, 303, 307, 308} {
		r := outboundtest.Receive(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Location", target.URL)
			w.WriteHeader(status)
		})
		id := p.enqueue(p.endpoint(r.URL), "", "msg_1")[0]
		p.sweep()
		if got := p.state(id) + ", " +
			p.recordedNotices.take(); got != fmt.Sprintf("failed status %d, failed msg_1 status %[1]d", status) {
			t.Error(got)
		}
	}
	if n := len(target.Requests()); n != 0 {
		t.Errorf("the target got %d requests", n)
	}
}

// counting counts the bytes read from response bodies.
type counting struct {
	outbound.Doer
	read *atomic.Int64
}

type countingBody struct {
	io.ReadCloser
	read *atomic.Int64
}

func (c counting) Do(r *http.Request) (*http.Response, error) {
	answer, err := c.Doer.Do(r)
	if err == nil {
		answer.Body = countingBody{answer.Body, c.read}
	}
	return answer, err
}

func (b countingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read.Add(int64(n))
	return n, err
}

func TestAHugeResponseIsReadUpToTwoMebibytes(t *testing.T) {
	t.Parallel()
	for status, limit := range map[int]int64{200: 2<<20 + 1, 400: 4<<10 + 1} {
		var read atomic.Int64
		p := newKit(t, outboundtest.SQLite(t), func(o *outbound.WorkerOptions) { o.Client = counting{o.Client, &read} })
		r := outboundtest.Receive(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Content-Length", "1073741824")
			w.WriteHeader(status)
			block := []byte(strings.Repeat(`{"a":1}    `, 1<<10))
			for range 1 << 17 {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		})
		id := p.enqueue(p.endpoint(r.URL), "", "msg_1")[0]
		p.sweep()
		d := p.delivery(id)
		if read.Load() > limit || len(d.Log) != 1 || len(d.Log[0].Answer) != 4<<10 {
			t.Errorf("%d: %d read, %+v", status, read.Load(), d)
		}
		if got := p.recordedNotices.take(); status == 200 && got != "delivered msg_1" {
			t.Error(got)
		}
	}
}

func TestSilentAndSlowReceiversTimeOutAndAreRetried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		log    string
	}{
		"never answers": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "timeout 200"},
		"headers, then a byte now and then": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte(" "))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(time.Second)
			}
		}, "200/timeout 200"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := outboundtest.NewReceiver(func(w http.ResponseWriter, r *http.Request, n int) {
					if n == 1 {
						c.answer(w, r)
					}
				})
				client := inMemory(t, r)
				p := newKit(t, outboundtest.SQLite(t), func(o *outbound.WorkerOptions) { o.Client = client })
				id := p.enqueue(p.endpoint("http://127.0.0.1:7000"), "", "msg_1")[0]
				p.sweep()
				p.next(id)
				if got := p.state(id) + ", " + p.line(id); got != "delivered, "+c.log {
					t.Error(got)
				}
				verifyIDs(t, r, "msg_1")
			})
		})
	}
}

// inMemory returns a client with the limits of OUT-7, and a receiver that it reaches for every address.
func inMemory(t *testing.T, receiver http.Handler) *http.Client {
	t.Helper()
	listener := testenv.NewPipes()
	server := &http.Server{Handler: receiver}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	limits := outbound.Timeouts()
	client := &http.Client{
		Timeout:   limits.Total,
		Transport: &http.Transport{DialContext: listener.Dial, ResponseHeaderTimeout: limits.Header},
	}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		_ = server.Close()
		<-ended
		time.Sleep(time.Minute) // until the goroutines that still sleep have ended
	})
	return client
}

func TestAResetAfterTheRequestIsRetried(t *testing.T) {
	t.Parallel()
	p := newKit(t, outboundtest.SQLite(t))
	for name, answer := range map[string]string{
		"before the answer": "", "within the answer": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			r := outboundtest.Receive(t, func(w http.ResponseWriter, _ *http.Request, n int) {
				if n > 1 {
					return
				}
				conn, buffered, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = buffered.WriteString(answer)
				_ = buffered.Flush()
				if answer == "" {
					_ = conn.(*net.TCPConn).SetLinger(0)
				}
				conn.Close()
			})
			id := p.enqueue(p.endpoint(r.URL), "", "msg_1")[0]
			p.sweep()
			if got := p.line(id); strings.TrimPrefix(got, "200/") != "connection_reset" {
				t.Error(got)
			}
			p.next(id)
			if got := p.state(id); got != "delivered" {
				t.Error(got)
			}
			verifyIDs(t, r, "msg_1")
		})
	}
}

func TestAClosedPortIsRetried(t *testing.T) {
	t.Parallel()
	p := newKit(t, outboundtest.SQLite(t))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	p.must(err)
	p.must(l.Close())
	id := p.enqueue(p.endpoint("http://"+l.Addr().String()), "", "msg_1")[0]
	p.sweep()
	if got := p.state(id) + ", " + p.line(id); got != "queued, connection_refused" {
		t.Error(got)
	}
}

func TestAnUnknownNameIsRetried(t *testing.T) { //nolint:paralleltest // it replaces the resolver
	testenv.Resolve(t, func(string) []string { return nil })
	p := newKit(t, outboundtest.SQLite(t))
	id := p.enqueue(p.endpoint("https://hooks.example.com/x"), "", "msg_1")[0]
	p.sweep()
	if got := p.state(id) + ", " + p.line(id); got != "queued, dns" {
		t.Error(got)
	}
}

func TestABadCertificateFailsAtOnce(t *testing.T) {
	t.Parallel()
	p := newKit(t, outboundtest.SQLite(t))
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	id := p.enqueue(p.endpoint(server.URL), "", "msg_1")[0]
	p.sweep()
	if got := p.state(id) + ", " + p.line(id) + ", " +
		p.recordedNotices.take(); got != "failed certificate, certificate, failed msg_1 certificate" {
		t.Error(got)
	}
}

// strict sends with the production guard.
func strict(o *outbound.WorkerOptions) {
	o.Client = netguard.New(netguard.Options{}).Client(netguard.Timeouts{})
}

func TestNamesOfPrivateAddressesAreRefusedBeforeConnecting(t *testing.T) { //nolint:paralleltest // it replaces the resolver
	var address atomic.Value
	testenv.Resolve(t, func(string) []string { return []string{address.Load().(string)} })
	p := newKit(t, outboundtest.SQLite(t), strict)
	for i, inside := range []string{
		"127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::",
		"168.63.129.16", "0.0.0.0", "100.64.0.1", "192.168.1.1", "172.16.0.1",
	} {
		address.Store(inside)
		id := p.enqueue(p.endpoint(fmt.Sprintf("https://h%d.example.com/", i)), "", "msg_1")[0]
		p.sweep()
		if got := p.state(id) + ", " + p.recordedNotices.take(); got != "failed target_refused, failed msg_1 target_refused" {
			t.Errorf("%s: %s", inside, got)
		}
	}
}

// A name that had a public address when it was saved has a private one when it is
// sent.
func TestDNSRebindingGainsNothing(t *testing.T) { //nolint:paralleltest // it replaces the resolver
	var asked atomic.Int32
	testenv.Resolve(t, func(string) []string {
		asked.Add(1)
		return []string{"127.0.0.1"}
	})
	p := newKit(t, outboundtest.SQLite(t), strict)
	e := p.endpoint("https://rebind.example.com/")
	if n := asked.Load(); n != 0 {
		t.Errorf("the name was resolved when saved: %d", n)
	}
	id := p.enqueue(e, "", "msg_1")[0]
	p.sweep()
	if got := p.state(id); got != "failed target_refused" || asked.Load() == 0 {
		t.Error(got, asked.Load())
	}
}

// The guard also refuses a row that was saved under older rules.
func TestDisguisedURLsAreRefusedWhenSavedAndWhenSent(t *testing.T) {
	t.Parallel()
	site := outboundtest.SQLite(t)
	p := newKit(t, site, strict)
	service := outbound.New(outbound.Options{
		Store: site.Store, CheckURL: netguard.New(netguard.Options{}).CheckURL, Now: p.clock.Now,
	})
	for _, target := range []string{
		"http://2130706433/", "http://0x7f.1/", "https://2130706433/", "https://0x7f.1/",
		"https://user:pw@hooks.example.com/", "https://hooks.example.com:22/", "ftp://hooks.example.com/",
		"http://hooks.example.com/", "file:///etc/passwd", "https://", "::",
	} {
		_, err := service.Register(t.Context(), p.user, outbound.EndpointRequest{Kind: agentKind, URL: target})
		p.code(err, protocol.CodeInvalid)
		if err != nil && strings.Contains(err.Error(), "pw") {
			t.Errorf("the URL is quoted: %v", err)
		}
		e := p.endpoint("https://hooks.example.com/")
		site.Exec(t, `UPDATE webhook_endpoints SET url = ? WHERE id = ?`, target, e.ID)
		id := p.enqueue(e, "", "msg_1")[0]
		p.sweep()
		if got := p.state(id); got != "failed target_refused" {
			t.Errorf("%s: %s", target, got)
		}
	}
}

func TestAProxyInTheEnvironmentIsNotUsed(t *testing.T) { //nolint:paralleltest // it sets the environment
	proxy := outboundtest.Receive(t, nil)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	p := newKit(t, outboundtest.SQLite(t))
	r := outboundtest.Receive(t, nil)
	id := p.enqueue(p.endpoint(r.URL), "", "msg_1")[0]
	p.sweep()
	if got := p.state(id); got != "delivered" || len(proxy.Requests()) != 0 || len(r.Requests()) != 1 {
		t.Error(got, len(proxy.Requests()))
	}
}

func TestRotationOverlaps(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, outboundtest.Statuses(500, 200, 200))
		e := p.endpoint(r.URL)
		id := p.enqueue(e, "", "msg_1")[0]
		p.sweep()
		rotated, err := p.worker.Rotate(t.Context(), p.user, agentKind, e.ID, seal.Secret{})
		p.must(err)
		p.next(id)
		requests := r.Requests()
		verify(t, requests[:1], e.Secret)
		verify(t, requests[1:], e.Secret, rotated.Secret)
		p.clock.Advance(outbound.Overlap)
		p.enqueue(e, "", "msg_2")
		p.sweep()
		last := r.Requests()[2]
		verify(t, []outboundtest.Request{last}, rotated.Secret)
		if last.Verify(e.Secret) == nil {
			t.Error("the old secret verifies after the overlap")
		}
		if err := signature.Verify(last.Header, last.Body, p.clock.Now(), key(t, rotated.Secret)); err != nil {
			t.Error(err)
		}
	})
}

func TestAnUnusableURLIsNeverLogged(t *testing.T) {
	t.Parallel()
	p := newKit(t, outboundtest.SQLite(t))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	p.must(err)
	p.must(l.Close())
	target := (&url.URL{Scheme: "http", Host: l.Addr().String(), RawQuery: "key=canary"}).String()
	id := p.enqueue(p.endpoint(target), "", "msg_1")[0]
	p.sweep()
	if got := fmt.Sprintf("%+v", p.delivery(id)); strings.Contains(got, "canary") {
		t.Error(got)
	}
}
