package app

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"

	"bellhop/protocol"
)

// A program on the other loopback address would be asked for the console by a browser that tries that address first.
func TestABrokerHasItsPortOnBothLoopbackAddresses(t *testing.T) { //nolint:paralleltest // another test could have the port on the other address
	for _, c := range []struct{ address, other string }{
		{"127.0.0.1:0", "::1"}, {"[::1]:0", "127.0.0.1"}, {"0.0.0.0:0", ""}, {"127.0.0.5:0", ""},
	} {
		first, second, err := listenForBrowsers("BELLHOP_LISTEN", c.address)
		if err != nil {
			t.Fatal(err)
		}
		got, want := "", ""
		if second != nil {
			got = second.Addr().String()
		}
		if c.other != "" {
			want = net.JoinHostPort(c.other, strconv.Itoa(first.Addr().(*net.TCPAddr).Port))
		}
		if got != want {
			t.Errorf("%s is also at %q, not at %q", c.address, got, want)
		}
		_ = first.Close()
		_ = closeListener(second)
	}
}

func TestABrokerAnswersOnBothAddressesOrDoesNotStart(t *testing.T) { //nolint:paralleltest // another test could have the port on the other address
	config := DevConfig{
		Data: t.TempDir(), Listen: "127.0.0.1:0", HostListen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler),
		Agent: "demo", DemoAgent: []string{"/bin/false"},
	}
	dev, err := OpenDev(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- dev.Run(ctx) }()
	port := dev.File.BrokerURL[strings.LastIndex(dev.File.BrokerURL, ":"):]
	for _, url := range []string{dev.File.BrokerURL, "http://[::1]" + port} {
		if got := get(t, url+"/healthz"); got != `200 {"status":"ok"}` {
			t.Errorf("%s: %s", url, got)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "[::1]"+port)
	if err != nil {
		t.Fatal(err) // the broker has given it back
	}
	defer func() { _ = taken.Close() }()
	config.Data, config.Listen = t.TempDir(), "127.0.0.1"+port
	if _, err = OpenDev(t.Context(), config); protocol.CodeOf(err) != protocol.CodeInvalid ||
		!strings.Contains(err.Error(), "another program listens on [::1]"+port) {
		t.Errorf("with a program at the other address: %v", err)
	}
}
