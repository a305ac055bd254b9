package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Options of New.
type Options struct {
	Files   fs.FS  // with an index.html
	Base    string // path under which browsers see the broker: "", or "/…" without a trailing slash
	Version string // of this program

	// Visitor reports whether the request has a session. The page gets the result, so that it
	// makes no call that would fail without a session. Visitor also returns the origins that the page may call besides its
	// own: the agent hosts that this user streams from. Nil means no user and no
	// origins.
	Visitor func(r *http.Request) (signedIn bool, origins []string)
}

// Console serves the console's files. It compresses each file once and keeps it in
// memory.
type Console struct {
	o      Options
	pages  [2]*asset // for visitors without and with a session
	shared *asset    // for readers of share links; nil: the build has no such page

	mu     sync.Mutex
	assets map[string]*asset
}

// asset is a file ready to be sent.
type asset struct {
	body, compressed []byte // compressed is nil if it would not be smaller
	media, tag       string
}

const (
	indexFile  = "index.html"
	sharedFile = "shared.html"
	sharedPath = "shared"

	// workerFile is the service worker. Its address never changes, because browsers look for updates there.
	workerFile = "sw.js"

	// hashed is the folder of files whose name changes with their content.
	hashed    = "assets/"
	immutable = "public, max-age=31536000, immutable"

	// slot is the element of index.html that holds the configuration.
	slotBegin = `<script id="bellhop-config" type="application/json">`
	slotEnd   = `</script>`
)

// New reads index.html and writes the configuration into it. Relative names become
// absolute, because the page is served under many paths.
func New(o Options) (*Console, error) {
	c := &Console{o: o, assets: map[string]*asset{}}
	for i, signedIn := range []bool{false, true} {
		var err error
		if c.pages[i], err = o.newPage(indexFile, map[string]any{"signedIn": signedIn}); err != nil {
			return nil, err
		}
	}
	if _, err := fs.Stat(o.Files, sharedFile); err == nil {
		if c.shared, err = o.newPage(sharedFile, map[string]any{}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// newPage returns a page of the build with its configuration.
func (o *Options) newPage(file string, config map[string]any) (*asset, error) {
	page, err := fs.ReadFile(o.Files, file)
	if err != nil {
		return nil, fmt.Errorf("the console has no page: %w", err)
	}
	base := (&url.URL{Path: o.Base}).EscapedPath() + "/"
	page = bytes.ReplaceAll(page, []byte(`="./`), []byte(`="`+html.EscapeString(base)))
	before, after, err := cutSlot(page)
	if err != nil {
		return nil, err
	}
	config["base"], config["version"] = base, o.Version
	config["named"] = true // the broker names itself in its answers
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	made := newAsset(file, slices.Concat(before, raw, after))
	made.tag = "" // the policy in the header varies although the bytes are the same
	return made, nil
}

func cutSlot(page []byte) (before, after []byte, err error) {
	head, rest, found := bytes.Cut(page, []byte(slotBegin))
	_, tail, ended := bytes.Cut(rest, []byte(slotEnd))
	if !found || !ended {
		return nil, nil, errors.New("the console's page has no place for its configuration: " + slotBegin)
	}
	return append(head, slotBegin...), append([]byte(slotEnd), tail...), nil
}

// Serve responds to a GET or HEAD for a file of the console or for one of its
// pages: any path that a browser requests and that has no file. It reports whether
// it has responded.
func (c *Console) Serve(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" || name == indexFile {
		c.page(w, r)
		return true
	}
	if c.shared != nil && (name == sharedPath || name == sharedFile) {
		c.sharedPage(w, r)
		return true
	}
	if a := c.asset(name); a != nil {
		c.file(w, r, name, a)
		return true
	}
	if strings.HasPrefix(name, hashed) || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return false
	}
	c.page(w, r)
	return true
}

// asset returns a file, which is read once, or nil.
func (c *Console) asset(name string) *asset {
	if path.Clean(name) != name || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, known := c.assets[name]; known {
		return a
	}
	body, err := fs.ReadFile(c.o.Files, name)
	if err != nil {
		return nil // not cached, because clients can request any number of names
	}
	a := newAsset(name, body)
	c.assets[name] = a
	return a
}

func newAsset(name string, body []byte) *asset {
	sum := sha256.Sum256(body)
	a := &asset{body: body, tag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
	a.media = mime.TypeByExtension(path.Ext(name))
	if a.media == "" {
		a.media = http.DetectContentType(body)
	}
	if compressible(a.media) {
		if small := compress(body); len(small) < len(body) {
			a.compressed = small
		}
	}
	return a
}

func compressible(media string) bool {
	media, _, _ = strings.Cut(media, ";")
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "javascript") ||
		strings.HasSuffix(media, "json") || strings.HasSuffix(media, "+xml")
}

func compress(body []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // only an invalid level fails
	if _, err := w.Write(body); err != nil || w.Close() != nil {
		return body
	}
	return out.Bytes()
}

func (c *Console) file(w http.ResponseWriter, r *http.Request, name string, a *asset) {
	header := w.Header()
	header.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, hashed) {
		header.Set("Cache-Control", immutable)
	}
	// A file that is opened as a page must not run scripts. The worker's own policy governs what it may request.
	policy := "default-src 'none'; frame-ancestors 'none'; sandbox"
	if name == workerFile {
		policy = "default-src 'none'; connect-src 'self'; frame-ancestors 'none'"
	}
	header.Set("Content-Security-Policy", policy)
	send(w, r, a)
}

// page sends index.html with the content policy of the request's user.
func (c *Console) page(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "private, no-cache") // the policy contains the visitor's hosts
	signedIn, origins := false, []string(nil)
	if c.o.Visitor != nil {
		signedIn, origins = c.o.Visitor(r)
	}
	guardPage(header, origins)
	header.Add("Vary", "Cookie, Authorization")
	if signedIn {
		send(w, r, c.pages[1])
	} else {
		send(w, r, c.pages[0])
	}
}

// sharedPage sends the page of a shared task. It does not depend on the reader, whose cookie is not read, and may
// call no server but its own.
func (c *Console) sharedPage(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Robots-Tag", "noindex, nofollow")
	guardPage(header, nil)
	send(w, r, c.shared)
}

// guardPage limits what a page may load, call and reveal.
func guardPage(header http.Header, origins []string) {
	header.Set("Content-Security-Policy", policy(origins))
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
}

// policy allows the page to load its own files and to call its own server and the
// hosts.
func policy(origins []string) string {
	connect := strings.Join(append([]string{"'self'"}, withSockets(origins)...), " ")
	return "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; " +
		"manifest-src 'self'; worker-src 'self'; connect-src " + connect +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// withSockets adds to each origin the one of its WebSockets, which an origin of HTTP does not allow.
func withSockets(origins []string) []string {
	all := make([]string, 0, 2*len(origins))
	for _, origin := range origins {
		all = append(all, origin, strings.Replace(origin, "http", "ws", 1))
	}
	return all
}

func send(w http.ResponseWriter, r *http.Request, a *asset) {
	header := w.Header()
	header.Set("Content-Type", a.media)
	header.Add("Vary", "Accept-Encoding")
	body := a.body
	if a.compressed != nil && takesGzip(r.Header) {
		body = a.compressed
		header.Set("Content-Encoding", "gzip")
	}
	if a.tag != "" {
		header.Set("ETag", "W/"+a.tag)
		if has(r.Header, a.tag) {
			header.Del("Content-Encoding")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// has reports whether If-None-Match contains the tag. A tag has no quotes inside,
// so no tag is found inside another.
func has(header http.Header, tag string) bool {
	known := strings.Join(header.Values("If-None-Match"), ",")
	return strings.TrimSpace(known) == "*" || strings.Contains(known, tag)
}

// takesGzip reports whether Accept-Encoding contains gzip with a weight above 0.
func takesGzip(header http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		q, found := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(weight), " ", ""), "q=")
		value, err := strconv.ParseFloat(q, 64)
		return !found || err == nil && value > 0
	}
	return false
}
