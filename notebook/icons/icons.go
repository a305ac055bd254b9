// Package icons fetches the images that agents name as their icons, so that the user's browser
// sends no request to another server. It keeps a few of them in memory.
//
// The Client decides which addresses may be reached: outside of tests it must be
// netguard.Guard.Client. Who may see which icon is decided by package notebook.
package icons

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"bellhop/internal/netguard"
	"bellhop/notebook"
	"bellhop/protocol"
)

const (
	maxImage   = 256 << 10
	maxKept    = 64 // images and refusals
	keepImage  = time.Hour
	keepFailed = time.Minute
)

// types are the image types that a browser cannot run as a program, unlike SVG.
var types = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// Timeouts are the limits of a request for an image.
func Timeouts() netguard.Timeouts {
	return netguard.Timeouts{Header: 5 * time.Second, Total: 10 * time.Second}
}

// Doer sends a request. It must not follow redirects.
type Doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// Fetcher implements notebook.Icons. It is safe for concurrent use.
type Fetcher struct {
	client  Doer
	now     func() time.Time
	flights singleflight.Group // one request for a URL at a time

	mu   sync.Mutex
	kept map[string]kept
}

type kept struct {
	icon  *notebook.Icon
	err   error
	until time.Time
}

var _ notebook.Icons = (*Fetcher)(nil)

// New returns a Fetcher that has fetched nothing.
func New(client Doer, now func() time.Time) *Fetcher {
	return &Fetcher{client: client, now: now, kept: map[string]kept{}}
}

// Icon returns the image at a URL. CodeBadGateway means that there is no usable one; the reason
// names no address, because the URL may name a host that the user cannot reach.
func (f *Fetcher) Icon(ctx context.Context, url string) (*notebook.Icon, error) {
	if k, found := f.recall(url); found {
		return k.icon, k.err
	}
	// The request serves all who wait for it, so the end of one caller does not end it.
	ch := f.flights.DoChan(url, func() (any, error) {
		icon, err := f.fetch(context.WithoutCancel(ctx), url)
		f.keep(url, icon, err)
		return icon, err
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case result := <-ch:
		icon, _ := result.Val.(*notebook.Icon)
		return icon, result.Err
	}
}

func (f *Fetcher) recall(url string) (kept, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k, found := f.kept[url]
	return k, found && f.now().Before(k.until)
}

// keep makes room by dropping the entry that ends first.
func (f *Fetcher) keep(url string, icon *notebook.Icon, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := kept{icon, err, f.now().Add(keepImage)}
	if err != nil {
		k.until = f.now().Add(keepFailed)
	}
	if _, found := f.kept[url]; !found && len(f.kept) >= maxKept {
		oldest := ""
		for other, o := range f.kept {
			if oldest == "" || o.until.Before(f.kept[oldest].until) {
				oldest = other
			}
		}
		delete(f.kept, oldest)
	}
	f.kept[url] = k
}

func (f *Fetcher) fetch(ctx context.Context, url string) (*notebook.Icon, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, unusable("its URL is malformed", err)
	}
	request.Header.Set("Accept", "image/png, image/webp, image/jpeg, image/gif")
	request.Header.Set("User-Agent", "Bellhop-Icon/1")
	response, err := f.client.Do(request)
	switch {
	case errors.Is(err, netguard.ErrRefused):
		return nil, unusable("its address is not public", err)
	case err != nil:
		return nil, unusable("its server cannot be reached", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, unusable(fmt.Sprintf("its server answered %d", response.StatusCode), nil)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxImage+1))
	switch {
	case err != nil:
		return nil, unusable("its server stopped before the end", err)
	case len(data) > maxImage:
		return nil, unusable("it is larger than 256 KiB", nil)
	}
	kind := http.DetectContentType(data) // the bytes decide, not the server's header
	if !types[kind] {
		return nil, unusable("it is no PNG, JPEG, GIF or WebP image", nil)
	}
	sum := sha256.Sum256(data)
	return &notebook.Icon{Data: data, Type: kind, Digest: hex.EncodeToString(sum[:])}, nil
}

func unusable(why string, err error) error {
	return &protocol.Error{
		Code: protocol.CodeBadGateway, Message: "The agent's icon cannot be shown: " + why,
		Hint: "The agent can name another one: agentIcon of create_agent_notebook", Err: err,
	}
}
