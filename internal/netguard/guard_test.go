package netguard_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/netguard"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestControlRefusesSpecialAddresses(t *testing.T) {
	t.Parallel()
	guard := netguard.New(netguard.Options{})
	for _, address := range []string{
		"127.0.0.1:443", "127.255.255.254:443", "10.0.0.1:443", "172.16.0.1:443", "172.31.255.255:443", "192.168.1.1:443",
		"169.254.169.254:443", "100.64.0.1:443", "0.0.0.0:443", "168.63.129.16:443", "192.0.0.1:443", "198.18.0.1:443",
		"224.0.0.1:443", "240.0.0.1:443", "255.255.255.255:443", "203.0.113.5:443",
		"[::]:443", "[::1]:443", "[fd00::1]:443", "[fe80::1]:443", "[ff02::1]:443", "[::ffff:127.0.0.1]:443",
		"[::ffff:8.8.8.8]:443", "[64:ff9b::7f00:1]:443", "[64:ff9b:1::1]:443", "[2002:7f00:1::]:443", "[2001:0:1::1]:443",
		"[2001:db8::1]:443", "[100::1]:443",
	} {
		t.Run(address, func(t *testing.T) {
			if err := guard.Control(networkOf(address), address, nil); !errors.Is(err, netguard.ErrRefused) {
				t.Fatalf("not refused: %v", err)
			}
		})
	}
}

func TestControlOnPublicAddresses(t *testing.T) {
	t.Parallel()
	guard := netguard.New(netguard.Options{})
	for _, address := range []string{"8.8.8.8:443", "8.8.8.8:8443", "[2606:4700::1111]:443", "168.63.129.17:443"} {
		if err := guard.Control(networkOf(address), address, nil); err != nil {
			t.Errorf("%s refused: %v", address, err)
		}
	}
	for _, address := range []string{"8.8.8.8:22", "8.8.8.8:80", "[2606:4700::1111]:25", "nonsense", "8.8.8.8"} {
		if err := guard.Control(networkOf(address), address, nil); !errors.Is(err, netguard.ErrRefused) {
			t.Errorf("%s not refused: %v", address, err)
		}
	}
	if err := guard.Control("udp4", "8.8.8.8:443", nil); !errors.Is(err, netguard.ErrRefused) {
		t.Errorf("udp not refused: %v", err)
	}
}

func TestControlAllowsWhatTheOperatorAllows(t *testing.T) {
	t.Parallel()
	guard := netguard.New(netguard.Options{
		AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.2.3/16"), netip.MustParsePrefix("fd00:1::/32")},
	})
	for address, want := range map[string]bool{
		"10.1.255.1:7701": true, "[fd00:1::5]:80": true, "[::ffff:10.1.0.1]:80": true,
		"10.2.0.1:443": false, "127.0.0.1:7701": false, "[64:ff9b::a01:1]:443": false, "8.8.8.8:7701": false,
	} {
		if err := guard.Control(networkOf(address), address, nil); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	dev := netguard.New(netguard.Options{AllowLoopback: true})
	for address, want := range map[string]bool{
		"127.0.0.1:7701": true, "[::1]:7701": true, "127.0.0.1:22": false, "0.0.0.0:7701": false, "10.0.0.1:7701": false,
	} {
		if err := dev.Control(networkOf(address), address, nil); (err == nil) != want {
			t.Errorf("dev, %s: %v", address, err)
		}
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	strict := netguard.New(netguard.Options{})
	dev := netguard.New(netguard.Options{AllowLoopback: true})
	lan := netguard.New(netguard.Options{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	cases := []struct {
		name, url        string
		strict, dev, lan bool
	}{
		{"a public name", "https://agent.example.com/base", true, true, true},
		{"a public name on 8443", "https://agent.example.com:8443", true, true, true},
		{"a public address", "https://8.8.8.8/", true, true, true},
		{"a final dot", "https://agent.example.com./", true, true, true},
		{"http", "http://agent.example.com:8443/", false, true, true},
		{"another port", "https://agent.example.com:7701/", false, true, true},
		{"ssh's port", "https://8.8.8.8:22/", false, false, false},
		{"loopback", "http://127.0.0.1:7701", false, true, false},
		{"loopback v6", "http://[::1]:7701", false, true, false},
		{"loopback on a system port", "http://127.0.0.1:22", false, false, false},
		{"localhost", "http://localhost:7701", false, true, false},
		{"a name under localhost", "https://x.localhost", false, true, false},
		{"a private address", "http://10.1.2.3:7701", false, false, true},
		{"another private address", "https://192.168.0.1", false, false, false},
		{"metadata", "https://169.254.169.254/latest", false, false, false},
		{"metadata over IPv6", "https://[fd00:ec2::254]/latest", false, false, false},
		{"metadata, mapped", "https://[::ffff:169.254.169.254]/latest", false, false, false},
		{"Google's metadata", "https://metadata.google.internal/", false, false, false},
		{"Google's metadata on its port", "http://metadata.google.internal:80/computeMetadata/v1/", false, false, false},
		{"a name in other letters with a final dot", "https://METADATA.google.Internal./", false, false, false},
		{"a name below it", "https://x.metadata.google.internal/", false, false, false},
		{"Google's short name", "https://metadata/", false, false, false},
		{"Google's public name", "https://metadata.goog/", false, false, false},
		{"AWS's name", "https://instance-data.ec2.internal/", false, false, false},
		{"Tencent's name", "https://metadata.tencentyun.com/", false, false, false},
		{"a name that ends alike", "https://mymetadata.goog/", true, true, true},
		{"a name of a private network", "https://build1.internal/", false, true, true},
		{"a decimal address", "http://2130706433/", false, false, false},
		{"a decimal address over https", "https://2130706433/", false, false, false},
		{"a hexadecimal address", "https://0x7f.1/", false, false, false},
		{"one hexadecimal number", "https://0x7f000001/", false, false, false},
		{"an octal address", "https://0177.0.0.1/", false, false, false},
		{"a short address", "https://127.1/", false, false, false},
		{"an address with a final dot", "https://127.0.0.1./", false, false, false},
		{"full-width digits", "https://１２７.0.0.1/", false, false, false},
		{"escaped digits", "https://%31%32%37.0.0.1/", false, false, false},
		{"a mapped address", "https://[::ffff:127.0.0.1]/", false, false, false},
		{"an address with a zone", "https://[fe80::1%25eth0]/", false, false, false},
		{"NAT64", "https://[64:ff9b::7f00:1]/", false, false, false},
		{"a user", "https://user@agent.example.com/", false, false, false},
		{"a user that looks like a host", "https://agent.example.com:443@127.0.0.1/", false, false, false},
		{"ftp", "ftp://agent.example.com/", false, false, false},
		{"file", "file:///etc/passwd", false, false, false},
		{"no scheme", "agent.example.com", false, false, false},
		{"no host", "https:///x", false, false, false},
		{"opaque", "https:agent.example.com", false, false, false},
		{"port 0", "https://agent.example.com:0/", false, false, false},
		{"port 65536", "https://agent.example.com:65536/", false, false, false},
		{"empty", "", false, false, false},
		{"a line feed", "https://agent.example.com/\n", false, false, false},
		{"very long", "https://agent.example.com/" + strings.Repeat("x", 3000), false, false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, g := range []struct {
				name  string
				guard *netguard.Guard
				want  bool
			}{{"strict", strict, c.strict}, {"dev", dev, c.dev}, {"lan", lan, c.lan}} {
				err := g.guard.CheckURL(c.url)
				if (err == nil) != g.want {
					t.Errorf("%s: %v", g.name, err)
				}
				if err != nil && (!errors.Is(err, netguard.ErrRefused) || protocol.CodeOf(err) != protocol.CodeInvalid) {
					t.Errorf("%s: a refusal must be invalid and ErrRefused: %v", g.name, err)
				}
			}
		})
	}
}

// A network that an operator allows may have a metadata service in it, which nobody meant.
func TestOnlyItsOwnAddressAllowsAMetadataService(t *testing.T) {
	t.Parallel()
	everything := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	wide := netguard.New(netguard.Options{AllowCIDRs: everything})
	meant := netguard.New(netguard.Options{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("169.254.169.254/32")}})
	for _, address := range []string{
		"169.254.169.254:80", "[::ffff:169.254.169.254]:80", "[fd00:ec2::254]:80", "[fd20:ce::254]:80", "[fe80::a9fe:a9fe%lo]:80",
		"169.254.170.2:80", "169.254.170.23:80", "[fd00:ec2::23]:80", "168.63.129.16:80", "100.100.100.200:80", "192.0.0.192:80",
		"169.254.42.42:80", "[fd00:42::42]:80", "169.254.0.23:80",
	} {
		if err := wide.Control(networkOf(address), address, nil); !errors.Is(err, netguard.ErrRefused) {
			t.Errorf("%s, with all addresses allowed: %v", address, err)
		}
		isMeant := strings.Contains(address, "169.254.169.254")
		if err := meant.Control(networkOf(address), address, nil); (err == nil) != isMeant {
			t.Errorf("%s, with 169.254.169.254 allowed: %v", address, err)
		}
	}
	const url = "http://metadata.google.internal/"
	if err := meant.CheckURL(url); err != nil {
		t.Error(err)
	}
	if err := wide.CheckURL(url); !errors.Is(err, netguard.ErrRefused) {
		t.Error(err)
	}
}

func TestCheckURLNeverQuotesTheURL(t *testing.T) {
	t.Parallel()
	err := netguard.New(netguard.Options{}).CheckURL("https://user:canary@10.0.0.1/canary?canary=1\x7f")
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Fatal(err)
	}
}

func TestClientRefusesBeforeConnecting(t *testing.T) {
	t.Parallel()
	var accepted atomic.Int32
	target := httptest.NewUnstartedServer(http.NotFoundHandler())
	target.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			accepted.Add(1)
		}
	}
	target.StartTLS()
	defer target.Close()
	client := netguard.New(netguard.Options{}).Client(netguard.Timeouts{})
	defer client.CloseIdleConnections()
	for _, url := range []string{
		target.URL, "https://localhost/", "http://2130706433/", "ftp://example.com/", "https://u@example.com/",
	} {
		resp, err := client.Get(url)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, netguard.ErrRefused) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if n := accepted.Load(); n != 0 {
		t.Fatalf("%d connections reached the target", n)
	}
}

// The name resolved to a public address when the URL was saved and to loopback now.
func TestRebindingIsRefusedAtTheDial(t *testing.T) {
	t.Parallel()
	guard := netguard.New(netguard.Options{})
	if err := guard.CheckURL("https://rebind.example.com/"); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	dialer := &net.Dialer{Control: guard.Control}
	conn, err := dialer.DialContext(context.Background(), "tcp", listener.Addr().String())
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, netguard.ErrRefused) {
		t.Fatalf("not refused: %v", err)
	}
}

// A name leads to an allowed address when its URL is stored and at the first request, and to one
// that is not allowed later. The client asks a real resolver each time.
func TestANameThatMovesIsRefusedAtTheNextRequest(t *testing.T) { //nolint:paralleltest // it replaces the resolver
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	defer target.Close()
	_, port, err := net.SplitHostPort(target.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	names := serveNames(t)
	guard := netguard.New(netguard.Options{AllowLoopback: true})
	url := "http://rebind.example.com:" + port + "/"
	for _, to := range []string{"169.254.169.254", "10.0.0.1", "0.0.0.0"} {
		client := guard.Client(netguard.Timeouts{})
		names.set("127.0.0.1")
		if err := guard.CheckURL(url); err != nil {
			t.Fatal(err)
		}
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		client.CloseIdleConnections()
		names.set(to)
		if resp, err = client.Get(url); err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, netguard.ErrRefused) {
			t.Errorf("%s: %v", to, err)
		}
		client.CloseIdleConnections()
	}
}

func TestRedirectsToAMetadataServiceAreNotFollowed(t *testing.T) {
	t.Parallel()
	client := netguard.New(netguard.Options{AllowLoopback: true}).Client(netguard.Timeouts{})
	defer client.CloseIdleConnections()
	for _, to := range []string{
		"http://169.254.169.254/latest/", "http://metadata.google.internal/computeMetadata/v1/", "//[fd00:ec2::254]/latest/",
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", to)
				w.WriteHeader(status)
			}))
			resp, err := client.Post(target.URL, "application/json", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != status {
				t.Errorf("%d to %s: got %d", status, to, resp.StatusCode)
			}
			// Whoever follows it by hand is refused, too.
			location, err := resp.Location()
			if err != nil {
				t.Fatal(err)
			}
			followed, err := client.Get(location.String())
			if err == nil {
				_ = followed.Body.Close()
			}
			if !errors.Is(err, netguard.ErrRefused) {
				t.Errorf("%s was not refused: %v", to, err)
			}
			target.Close()
		}
	}
}

func TestClientReturnsRedirects(t *testing.T) {
	t.Parallel()
	var followed atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/next" {
			followed.Add(1)
		}
		http.Redirect(w, r, "/next", http.StatusTemporaryRedirect)
	}))
	defer target.Close()
	client := netguard.New(netguard.Options{AllowLoopback: true}).Client(netguard.Timeouts{})
	defer client.CloseIdleConnections()
	resp, err := client.Post(target.URL, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusTemporaryRedirect || followed.Load() != 0 {
		t.Fatalf("status %d, followed %d", resp.StatusCode, followed.Load())
	}
}

func TestClientIgnoresProxies(t *testing.T) {
	var proxied atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied.Add(1) }))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	client := netguard.New(netguard.Options{AllowLoopback: true}).Client(netguard.Timeouts{Connect: time.Second})
	defer client.CloseIdleConnections()
	// The target is a name, because loopback addresses never use a proxy.
	resp, err := client.Get("http://agent.invalid:7701/")
	if err == nil {
		_ = resp.Body.Close()
	}
	if err == nil || proxied.Load() != 0 {
		t.Fatalf("err %v, proxied %d", err, proxied.Load())
	}
}

func networkOf(address string) string {
	if strings.HasPrefix(address, "[") {
		return "tcp6"
	}
	return "tcp4"
}
