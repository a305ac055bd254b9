package web_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"bellhop/web"
)

const page = `<script id="bellhop-config" type="application/json">{}</script><script src="./assets/a-1.js"></script>`

func open(t *testing.T, o web.Options) *web.Console {
	t.Helper()
	if o.Files == nil {
		o.Files = fstest.MapFS{
			"index.html":    {Data: []byte(page)},
			"assets/a-1.js": {Data: []byte(strings.Repeat("let a = 1;\n", 100))},
			"icon.svg":      {Data: []byte("<svg/>")},
			"sw.js":         {Data: []byte("let b = 1;")},
			".keep":         {Data: []byte("x")},
			".vite/m.json":  {Data: []byte("x")},
		}
	}
	console, err := web.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return console
}

func get(c *web.Console, method, path string, header ...string) (*httptest.ResponseRecorder, bool) {
	r := httptest.NewRequest(method, path, http.NoBody)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	return rec, c.Serve(rec, r)
}

func TestPageHasItsConfiguration(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"/a \"b":   `<script id="bellhop-config" type="application/json">{"base":"/a%20%22b/","named":true,"signedIn":false,"version":"1.2"}</script><script src="/a%20%22b/assets/a-1.js"></script>`,
		"":         `<script id="bellhop-config" type="application/json">{"base":"/","named":true,"signedIn":false,"version":"1.2"}</script><script src="/assets/a-1.js"></script>`,
		"/bellhop": `<script id="bellhop-config" type="application/json">{"base":"/bellhop/","named":true,"signedIn":false,"version":"1.2"}</script><script src="/bellhop/assets/a-1.js"></script>`,
	} {
		for _, path := range []string{"/", "/index.html", "/tasks/1"} {
			rec, ok := get(open(t, web.Options{Base: base, Version: "1.2"}), "GET", path, "Accept", "text/html")
			if !ok || rec.Body.String() != want || rec.Header().Get("Cache-Control") != "private, no-cache" {
				t.Errorf("%s%s: %v %s %v", base, path, ok, rec.Body, rec.Header())
			}
		}
	}
}

func TestThePageOfASharedTaskKnowsNoVisitor(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"index.html": {Data: []byte(page)}, "shared.html": {Data: []byte("shared " + page)}}
	visited := false
	c := open(t, web.Options{Files: files, Base: "/b", Version: "1", Visitor: func(*http.Request) (bool, []string) {
		visited = true
		return true, []string{"https://host.example"}
	}})
	for _, path := range []string{"/shared", "/shared.html"} {
		rec, ok := get(c, "GET", path, "Cookie", "session=x")
		want := `shared <script id="bellhop-config" type="application/json">{"base":"/b/","named":true,"version":"1"}</script>` +
			`<script src="/b/assets/a-1.js"></script>`
		if !ok || rec.Body.String() != want || visited {
			t.Errorf("%s: %v %s, visited %v", path, ok, rec.Body, visited)
		}
		for name, value := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow",
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; " +
				"img-src 'self' data: blob:; manifest-src 'self'; worker-src 'self'; connect-src 'self'; base-uri 'none'; " +
				"form-action 'none'; frame-ancestors 'none'",
		} {
			if got := rec.Header().Get(name); got != value {
				t.Errorf("%s: %s %q", path, name, got)
			}
		}
	}
	if rec, ok := get(open(t, web.Options{}), "GET", "/shared"); ok {
		t.Errorf("a build without it: %s", rec.Body)
	}
}

func TestFilesAreCachedByTheirNames(t *testing.T) {
	t.Parallel()
	c := open(t, web.Options{})
	for path, want := range map[string]string{
		"/assets/a-1.js": "public, max-age=31536000, immutable|text/javascript; charset=utf-8",
		"/icon.svg":      "no-cache|image/svg+xml",
	} {
		rec, ok := get(c, "GET", path)
		if got := rec.Header().Get("Cache-Control") + "|" + rec.Header().Get("Content-Type"); !ok || got != want {
			t.Errorf("%s: %s", path, got)
		}
		tag := rec.Header().Get("ETag")
		for known, status := range map[string]int{
			tag: 304, strings.TrimPrefix(tag, "W/"): 304, `"other", ` + tag: 304, " * ": 304, `"other"`: 200,
			strings.Trim(tag, `W/"`): 200, "": 200,
		} {
			for _, method := range []string{"GET", "HEAD"} {
				again, _ := get(c, method, path, "If-None-Match", known, "Accept-Encoding", "gzip")
				if again.Code != status || again.Code == 304 && again.Body.Len()+len(again.Header().Get("Content-Encoding")) > 0 {
					t.Errorf("%s %s, %s: %d %v", method, path, known, again.Code, again.Header())
				}
			}
		}
	}
}

func TestFilesAreCompressedForClientsThatAcceptIt(t *testing.T) {
	t.Parallel()
	c := open(t, web.Options{})
	complete, _ := get(c, "GET", "/assets/a-1.js")
	small, _ := get(c, "GET", "/assets/a-1.js", "Accept-Encoding", "br, gzip")
	if small.Header().Get("Content-Encoding") != "gzip" || small.Body.Len() >= complete.Body.Len() {
		t.Fatalf("%v, %d of %d bytes", small.Header(), small.Body.Len(), complete.Body.Len())
	}
	for accepted, want := range map[string]string{
		"gzip;q=0": "", "GZIP; Q=0.5": "gzip", "identity, gzip ;q=0.0": "", "xgzip": "", "br": "", "": "",
	} {
		rec, _ := get(c, "GET", "/assets/a-1.js", "Accept-Encoding", accepted)
		if got := rec.Header().Get("Content-Encoding"); got != want {
			t.Errorf("%s: %q", accepted, got)
		}
	}
	reader, err := gzip.NewReader(small.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(reader); err != nil || string(got) != complete.Body.String() {
		t.Errorf("%q, %v", got, err)
	}
	head, _ := get(c, "HEAD", "/assets/a-1.js")
	if head.Body.Len() > 0 || head.Header().Get("Content-Length") != "1100" {
		t.Errorf("%v", head.Header())
	}
}

func TestOtherRequestsAreNotServed(t *testing.T) {
	t.Parallel()
	c := open(t, web.Options{})
	for name, r := range map[string][]string{
		"a file of a former build":            {"GET", "/assets/a-0.js", "Accept", "text/html"},
		"a hidden file":                       {"GET", "/.keep"},
		"a file of a hidden folder":           {"GET", "/.vite/m.json"},
		"a way out":                           {"GET", "/assets/../.keep"},
		"a folder":                            {"GET", "/assets"},
		"a request of a tool, not for a page": {"GET", "/tasks"},
		"a post":                              {"POST", "/"},
	} {
		if rec, ok := get(c, r[0], r[1], r[2:]...); ok || rec.Body.Len() > 0 {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
	}
}

func TestContentPolicy(t *testing.T) {
	t.Parallel()
	c := open(t, web.Options{Visitor: func(r *http.Request) (bool, []string) {
		return true, []string{"https://host.example", r.Header.Get("X-Own")}
	}})
	rec, _ := get(c, "GET", "/", "X-Own", "http://own.example:7701")
	want := "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; " +
		"manifest-src 'self'; worker-src 'self'; connect-src 'self' https://host.example wss://host.example " +
		"http://own.example:7701 ws://own.example:7701; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	if got := rec.Header().Get("Content-Security-Policy"); got != want {
		t.Errorf("got %s", got)
	}
	if !strings.Contains(rec.Body.String(), `"signedIn":true`) {
		t.Errorf("got %s", rec.Body)
	}
}

// A service worker has the policy of its own file: with that of the others it could request nothing.
func TestTheServiceWorkerMayRequestItsBrokerOnly(t *testing.T) {
	t.Parallel()
	c := open(t, web.Options{})
	for path, want := range map[string]string{
		"/sw.js":         "default-src 'none'; connect-src 'self'; frame-ancestors 'none'",
		"/assets/a-1.js": "default-src 'none'; frame-ancestors 'none'; sandbox",
	} {
		rec, _ := get(c, "GET", path)
		if got := rec.Header().Get("Content-Security-Policy"); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	rec, _ := get(c, "GET", "/sw.js")
	h := rec.Header()
	if h.Get("Cache-Control") != "no-cache" || !strings.HasPrefix(h.Get("Content-Type"), "text/javascript") {
		t.Errorf("%v", h)
	}
}

func TestPageWithoutConfigurationElementIsRejected(t *testing.T) {
	t.Parallel()
	if _, err := web.New(web.Options{Files: fstest.MapFS{"index.html": {Data: []byte("<p>")}}}); err == nil {
		t.Error("it is one")
	}
}

// Tests both the page without a console and, if present, the build.
func TestEmbeddedFilesLoadNothingFromOtherOrigins(t *testing.T) {
	t.Parallel()
	files, built := web.Build()
	rec, ok := get(open(t, web.Options{Files: files}), "GET", "/")
	if body := rec.Body.String(); !ok || strings.Contains(body, "https://") || !strings.Contains(body, `{"base":"/"`) {
		t.Error(body)
	}
	if !built && !strings.Contains(rec.Body.String(), "make console") {
		t.Errorf("nothing says how to get the console: %s", rec.Body)
	}
}
