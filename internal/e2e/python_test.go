package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bellhop/internal/testenv/lies"
)

// testPythonAlone runs what only the Python client has, against the same servers as the cases of all clients.
func testPythonAlone(t *testing.T, s *stack) {
	t.Helper()
	config, err := json.Marshal(map[string]string{
		"brokerUrl": s.api, "apiToken": s.token, "email": userEmail, "password": userPassword, "hostId": s.hostID,
		"lyingUrl": gatewayForPython(t, s), "hostUrl": s.host.url, "streamUrl": "http://" + s.toStream.Addr(), "hostPassword": hostPassword,
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3",
		"-W", "error", "-m", "unittest", "-v", "tests.test_frames", "tests.test_real", "tests.test_lies")
	cmd.Dir = filepath.Join("..", "..", "clients", "python")
	cmd.Env = append(os.Environ(),
		"BELLHOP_TEST_CONFIG="+s.file("config.json", string(config)), "PYTHONDONTWRITEBYTECODE=1")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// gatewayForPython stands before the broker and the host. POST /lie says which lie it tells next, to which requests and how
// often.
func gatewayForPython(t *testing.T, s *stack) string {
	t.Helper()
	var (
		mu   sync.Mutex
		next struct {
			Index, Times int
			Path         string // what the paths of these requests begin with
		}
	)
	all := lies.All()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /lie", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if err := json.NewDecoder(r.Body).Decode(&next); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"how": all[next.Index].How, "count": len(all)})
	})
	servers := http.NewServeMux()
	servers.Handle("/stream/", proxyTo(t, s.host.url))
	servers.Handle("/", proxyTo(t, s.api))
	mux.Handle("/", &lies.Gateway{Next: servers, Lies: func(r *http.Request) *lies.Lie {
		mu.Lock()
		defer mu.Unlock()
		if next.Times == 0 || !strings.HasPrefix(r.URL.Path, next.Path) {
			return nil
		}
		next.Times--
		return &all[next.Index]
	}})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func proxyTo(t *testing.T, server string) http.Handler {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, FlushInterval: -1}
}
