package hosts_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/broker/hosts"
	"bellhop/protocol"
)

func TestEveryRequestNamesTheLifeOfTheDatabase(t *testing.T) {
	t.Parallel()
	life := protocol.NewLife("broker-1", "https://broker.example")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get(protocol.HeaderLife); got != life.String() {
			t.Errorf("%s %s: %q", r.Method, r.URL.Path, got)
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer server.Close()
	client := hosts.New(hosts.Options{Life: func() protocol.Life { return life }})
	defer client.CloseIdleConnections()
	for name, call := range calls {
		if _, err := call(t.Context(), client, broker.Target{URL: server.URL}); err == nil && name != "Relay" {
			t.Errorf("%s succeeded", name)
		}
	}
}

func TestARefusalOfACopyIsReported(t *testing.T) {
	t.Parallel()
	const text = "two copies of broker broker-1: the host obeys the one at http://b"
	for _, named := range []bool{true, false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if named {
				w.Header().Set(protocol.HeaderRequest, r.Header.Get(protocol.HeaderRequest))
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"error":"` + text + `","code":"two_copies"}`))
		}))
		var log bytes.Buffer
		client := hosts.New(hosts.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		for range 3 {
			_, err := client.Delete(t.Context(), broker.Target{URL: server.URL}, "s1", "")
			if protocol.CodeOf(err) != protocol.CodeBadGateway {
				t.Errorf("%v", err)
			}
		}
		if (client.CopyNotice() == text) != named || (strings.Count(log.String(), text) == 1) != named {
			t.Errorf("named %t: notice %q, log %s", named, client.CopyNotice(), log.String())
		}
		client.CloseIdleConnections()
		server.Close()
	}
}
