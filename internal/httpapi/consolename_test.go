package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"

	"bellhop/internal/httpapi"
)

func TestAConsoleOnThisMachineHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		public, browsers string
		named            bool
	}{
		{"http://127.0.0.1:7700", "http://bellhop.localhost:7700", true},
		{"http://localhost:7700/sub", "http://bellhop.localhost:7700/sub", true},
		{"http://[::1]:7700", "http://bellhop.localhost:7700", true},
		{"http://localhost", "http://bellhop.localhost", true},
		{"http://bellhop.localhost:7700", "http://bellhop.localhost:7700", true},
		{"http://127.0.0.5:7700", "http://127.0.0.5:7700", false}, // the name leads to 127.0.0.1
		{"http://192.0.2.1:7700", "http://192.0.2.1:7700", false},
		{"https://localhost:7700", "https://localhost:7700", false}, // the certificate is for its own name
		{"https://bellhop.example.com/sub", "https://bellhop.example.com/sub", false},
		{"https://bellhop.localhost", "https://bellhop.localhost", false},
		{"", "", false},
	} {
		if got := httpapi.BrowserURL(c.public); got != c.browsers {
			t.Errorf("browsers open %q at %q, not %q", c.public, got, c.browsers)
		}
		if got := httpapi.HasConsoleName(c.public); got != c.named {
			t.Errorf("%q has the name: %v", c.public, got)
		}
	}
	const named = "http://bellhop.localhost:7700"
	for _, want := range [][]string{
		{"http://localhost:7700", named}, {"http://127.0.0.1:7700", "http://localhost:7700", named}, {"https://a.example"},
	} {
		given := slices.DeleteFunc(slices.Clone(want), func(origin string) bool { return origin == named })
		if got := httpapi.BrowserOrigins(given); !reflect.DeepEqual(got, want) {
			t.Errorf("origins %q, not %q", got, want)
		}
	}
	if got := httpapi.BrowserOrigins([]string{named}); len(got) != 1 {
		t.Errorf("the origin of a console is there twice: %q", got)
	}
}

func TestOnlyABrowserThatFindsTheNameIsMovedToIt(t *testing.T) {
	t.Parallel()
	const (
		chromium = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"
		firefox  = "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0"
		safari   = "Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15"
		page     = "text/html,application/xhtml+xml,*/*;q=0.8"
	)
	for name, c := range map[string]struct {
		host, agent, accept string
		want                bool
	}{
		"Chromium":                     {"127.0.0.1:7700", chromium, page, true},
		"Firefox":                      {"localhost:7700", firefox, page, true},
		"at IPv6":                      {"[::1]:7700", firefox, page, true},
		"at another local name":        {"shop.localhost:7700", chromium, page, true},
		"at its own name":              {"bellhop.localhost:7700", chromium, page, false},
		"at its own name, in capitals": {"Bellhop.Localhost.:7700", chromium, page, false},
		"from another machine":         {"192.0.2.1:7700", chromium, page, false},
		"Safari asks DNS":              {"127.0.0.1:7700", safari, page, false},
		"a program":                    {"127.0.0.1:7700", "curl/8.0", "*/*", false},
		"a file of a page":             {"127.0.0.1:7700", chromium, "*/*", false},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://"+c.host+"/", http.NoBody)
		r.Header.Set("User-Agent", c.agent)
		r.Header.Set("Accept", c.accept)
		if got := httpapi.MayMove(r); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
