package doctor_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/doctor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A proxy may hold a stream back until it ends, cut it, or pass no comments.
func TestAStreamThatAProxyHoldsBackOrCutsIsFound(t *testing.T) {
	frame := func(w http.ResponseWriter) {
		_, _ = io.WriteString(w, "event: status\n\n")
		w.(http.Flusher).Flush()
	}
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		level doctor.Level
		want  string
	}{
		"a stream": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				frame(w)
				select {
				case <-r.Context().Done():
				case <-time.After(time.Millisecond):
				}
			}
		}, doctor.OK, "stays open"},
		"held back": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, doctor.Error, "holds it back"},
		"silent": {func(w http.ResponseWriter, r *http.Request) {
			frame(w)
			<-r.Context().Done()
		}, doctor.Error, "silent"},
		"cut":       {func(w http.ResponseWriter, _ *http.Request) { frame(w) }, doctor.Error, "was cut"},
		"forbidden": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, doctor.Error, "403"},
	} {
		server := httptest.NewServer(tt.serve)
		p := doctor.NewProber(time.Now)
		p.FirstByte, p.Silence, p.StreamFor = 300*time.Millisecond, 400*time.Millisecond, 2*time.Second
		got := p.Stream(t.Context(), doctor.Host{Name: name, URL: server.URL, Passwords: []string{"x"}})
		server.Close()
		if got.Level != tt.level || !strings.Contains(got.Message, tt.want) || got.Where != name || (got.Level == doctor.OK) != (got.Remedy == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
