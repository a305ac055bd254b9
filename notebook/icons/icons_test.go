package icons_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/netguard"
	"bellhop/notebook/icons"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const png = "\x89PNG\r\n\x1a\n and more"

// site serves images and counts the requests.
type site struct {
	*httptest.Server
	requests atomic.Int64
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{}
	bodies := map[string]string{
		"/png": png, "/jpeg": "\xff\xd8\xff\xe0", "/gif": "GIF89a", "/webp": "RIFF0000WEBPVP8 ",
		"/svg": `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`, "/html": "<!doctype html>",
		"/empty": "", "/large": png + strings.Repeat("x", 256<<10),
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		body, found := bodies[r.URL.Path]
		switch {
		case r.URL.Path == "/elsewhere":
			http.Redirect(w, r, "/png", http.StatusFound)
		case !found:
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("Content-Type", "image/png") // which is not always true
			_, _ = w.Write([]byte(body))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func newFetcher(t *testing.T, loopback bool, now func() time.Time) *icons.Fetcher {
	t.Helper()
	client := netguard.New(netguard.Options{AllowLoopback: loopback}).Client(icons.Timeouts())
	t.Cleanup(client.CloseIdleConnections)
	return icons.New(client, now)
}

func TestOnlyImagesWithinTheLimitsAreFetched(t *testing.T) {
	t.Parallel()
	s, f := newSite(t), newFetcher(t, true, time.Now)
	for path, want := range map[string]string{
		"/png": "image/png", "/jpeg": "image/jpeg", "/gif": "image/gif", "/webp": "image/webp",
		"/svg": "it is no PNG, JPEG, GIF or WebP image", "/html": "it is no PNG, JPEG, GIF or WebP image",
		"/empty": "it is no PNG, JPEG, GIF or WebP image", "/large": "it is larger than 256 KiB",
		"/missing": "its server answered 404", "/elsewhere": "its server answered 302",
	} {
		icon, err := f.Icon(t.Context(), s.URL+path)
		switch {
		case strings.HasPrefix(want, "image/"):
			if err != nil || icon.Type != want || len(icon.Digest) != 64 {
				t.Errorf("%s: %+v, %v", path, icon, err)
			}
		case protocol.CodeOf(err) != protocol.CodeBadGateway || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The broker can reach addresses that its users must not.
func TestPrivateAddressesAreNotReached(t *testing.T) {
	t.Parallel()
	s, f := newSite(t), newFetcher(t, false, time.Now)
	for _, url := range []string{
		s.URL + "/png", "https://10.0.0.1/a.png", "ftp://icons.example/a.png", "https://[::1]/a.png",
	} {
		if _, err := f.Icon(t.Context(), url); err == nil || !strings.Contains(err.Error(), "its address is not public") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if n := s.requests.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestAnImageIsFetchedOnceAnHour(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var hours atomic.Int64
	f := newFetcher(t, true, func() time.Time { return time.Unix(0, 0).Add(time.Duration(hours.Load()) * time.Hour) })
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := f.Icon(t.Context(), s.URL+"/png"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for range 2 {
		_, _ = f.Icon(t.Context(), s.URL+"/missing")
	}
	if n := s.requests.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
	hours.Add(1)
	if _, err := f.Icon(t.Context(), s.URL+"/png"); err != nil || s.requests.Load() != 3 {
		t.Errorf("%d requests, %v", s.requests.Load(), err)
	}
}

// The memory for images is bounded.
func TestOldImagesMakeRoom(t *testing.T) {
	t.Parallel()
	s, f := newSite(t), newFetcher(t, true, time.Now)
	const many = 70
	for range 2 {
		for i := range many {
			if _, err := f.Icon(t.Context(), s.URL+"/png?"+strings.Repeat("x", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := s.requests.Load(); n <= many {
		t.Errorf("all of %d images were kept", many)
	}
}

func TestACallerThatEndsDoesNotWait(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(slow.Close)
	f := newFetcher(t, true, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Icon(ctx, slow.URL); err == nil {
		t.Error("it waited")
	}
	close(release)
}
