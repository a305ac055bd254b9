//go:build linux

package torture

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// target counts the requests that arrive and answers with its own status.
func target(t *testing.T) (url string, arrived *atomic.Int64) {
	t.Helper()
	arrived = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived.Add(1)
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(s.Close)
	return s.URL, arrived
}

func TestAGatewayTreatsRequestsAsItsLieDemands(t *testing.T) {
	for _, c := range []struct {
		lie     string
		status  int // 0 = no answer
		arrived int64
	}{
		{"", http.StatusTeapot, 1},
		{lieSuccess, http.StatusOK, 0},
		{lieAfter, http.StatusOK, 1},
		{liePage, http.StatusOK, 0},
		{lieRefuse, http.StatusBadRequest, 0},
		{lieGone, http.StatusGone, 0},
		{badGateway, http.StatusBadGateway, 0},
		{answerLost, 0, 1},
		{requestLost, 0, 0},
		{duplicated, http.StatusTeapot, 2},
		{repeatedLate, http.StatusTeapot, 2},
		{reordered, http.StatusGatewayTimeout, 1},
		{delayed, http.StatusTeapot, 1},
	} {
		t.Run(c.lie, func(t *testing.T) {
			url, arrived := target(t)
			g, err := newGateway(t.Context(), "test", 1, url)
			if err != nil {
				t.Fatal(err)
			}
			var observed atomic.Int64
			g.onPair = func(exchange) { observed.Add(1) }
			g.set(c.lie, 1)
			if got := post(t, g.url()); got != c.status {
				t.Errorf("status %d, want %d", got, c.status)
			}
			err = eventually(t.Context(), startLimit, "all copies have arrived", func(context.Context) (bool, error) {
				return arrived.Load() == c.arrived && observed.Load() == c.arrived, nil
			})
			if err != nil {
				t.Errorf("%v: %d arrived, %d were observed, want %d", err, arrived.Load(), observed.Load(), c.arrived)
			}
			if n := g.counted()[c.lie]; c.lie != "" && n != 1 {
				t.Errorf("counted %d", n)
			}
			if err := g.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func post(t *testing.T, url string) int {
	t.Helper()
	client := http.Client{Transport: plain, Timeout: time.Minute}
	resp, err := client.Post(url+"/x", "application/json", bytes.NewReader([]byte("{}")))
	if err != nil {
		return 0
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}
