package openapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the documents and the page
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
)

var (
	//go:embed broker.yaml
	broker []byte
	//go:embed host.yaml
	host []byte

	brokerDocument = &Document{YAML: broker}
	hostDocument   = &Document{YAML: host}
)

// Document is the description of one server's API.
type Document struct {
	YAML []byte

	once   sync.Once
	err    error
	json   []byte
	page   []byte
	policy string // of the page
}

// Broker is the document of the broker.
func Broker() *Document { return brokerDocument }

// Host is the document of the agent host.
func Host() *Document { return hostDocument }

// Routes registers /openapi.yaml, /openapi.json and the page /openapi. They need no credential: the document is the
// same for everyone, and part of the program's source.
func (d *Document) Routes(e *echo.Echo) {
	described := func(media string) httpapi.Endpoint { return httpapi.Endpoint{Media: media} }
	e.GET("/openapi.yaml", httpapi.Describe(d.serveYAML, described("application/yaml")))
	e.GET("/openapi.json", httpapi.Describe(d.serveJSON,
		httpapi.Endpoint{Response: reflect.TypeFor[map[string]any]()}))
	e.GET("/openapi", httpapi.Describe(d.servePage, described("text/html")))
}

// prepare makes JSON and page from the YAML, once.
func (d *Document) prepare() error {
	d.once.Do(func() {
		if d.json, d.err = yaml.YAMLToJSON(d.YAML); d.err != nil {
			return
		}
		if d.page, d.err = render(d.YAML); d.err == nil {
			d.policy = "default-src 'none'; style-src " + hashed(style) + "; script-src " + hashed(script) +
				"; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
		}
	})
	return d.err
}

// hashed is a source of a Content-Security-Policy: exactly this text.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func (d *Document) serveYAML(c echo.Context) error { return serve(c, "application/yaml", d.YAML) }

func (d *Document) serveJSON(c echo.Context) error {
	if err := d.prepare(); err != nil {
		return err
	}
	return serve(c, "application/json", d.json)
}

func (d *Document) servePage(c echo.Context) error {
	if err := d.prepare(); err != nil {
		return err
	}
	c.Response().Header().Set("Content-Security-Policy", d.policy)
	return serve(c, "text/html; charset=utf-8", d.page)
}

// serve writes content that a browser may keep as long as it asks whether it is still the same.
func serve(c echo.Context, media string, content []byte) error {
	sum := sha256.Sum256(content)
	header := c.Response().Header()
	header.Set("Content-Type", media)
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(content))
	return nil
}
