package requestid_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"bellhop/internal/observe"
	"bellhop/internal/requestid"
)

func TestEveryRecordOfARequestHasItsID(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(requestid.LogHandler(slog.NewTextHandler(&out, nil))).With("part", "x")
	log.InfoContext(observe.WithRequest(t.Context(), "r-1", ""), "within")
	log.InfoContext(t.Context(), "outside")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[0], "msg=within part=x request_id=r-1") ||
		strings.Contains(lines[1], "request_id") {
		t.Errorf("%q", lines)
	}
}

func TestARequestOnBehalfOfAnotherHasItsID(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ctx  context.Context
		want string
	}{{observe.WithRequest(t.Context(), "r-1", ""), "r-1"}, {t.Context(), ""}} {
		r := httptest.NewRequestWithContext(c.ctx, "GET", "/", nil)
		requestid.Forward(r)
		if got := r.Header.Get(requestid.Header); got != c.want {
			t.Errorf("id %q, want %q", got, c.want)
		}
	}
}

func TestIDsThatClientsChoose(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"abc-1_Z": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "a b": false, "a\nlevel=ERROR": false, "ü": false,
	} {
		if got := requestid.Valid(id); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}
