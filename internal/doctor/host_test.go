package doctor_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bellhop/internal/doctor"
	"bellhop/protocol"
)

// The broker believes nothing of a host that has named its answers and does so no more: the operator must learn of it.
func TestAHostThatNamesItsAnswersNoMoreIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ named, names, found bool }{
		"it names them":         {true, true, false},
		"it names them no more": {false, true, true},
		"it never did":          {false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.named {
					w.Header().Set(protocol.HeaderRequest, r.Header.Get(protocol.HeaderRequest))
				}
				_, _ = io.WriteString(w, `{"status":"ready","version":"1","sessions":[]}`)
			}))
			defer server.Close()
			p := doctor.NewProber(time.Now)
			p.HTTP = server.Client()
			found := false
			host := doctor.Host{Name: "h", URL: server.URL, Passwords: []string{"p"}, Names: c.names}
			for _, f := range p.Host(t.Context(), host, "") {
				if strings.Contains(f.Message, "does not repeat the request's name") {
					found = f.Level == doctor.Error && strings.Contains(f.Remedy, "hosts update --url")
				}
			}
			if found != c.found {
				t.Errorf("found: %t", found)
			}
		})
	}
}
