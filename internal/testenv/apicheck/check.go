package apicheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	validation "github.com/pb33f/libopenapi-validator/errors"
	"github.com/pb33f/libopenapi-validator/schema_validation"
	"github.com/pb33f/libopenapi/datamodel/high/base"

	"bellhop/openapi"
)

// Checker checks exchanges against one document. It is safe for concurrent use.
type Checker struct {
	validator  validator.Validator
	schemas    schema_validation.SchemaValidator
	components func(name string) *base.Schema
	operations []operation
}

// operation is what the checker reads of an operation itself.
type operation struct {
	method  string
	path    []string            // elements; that of a parameter begins with {
	query   []string            // names of parameters
	codes   map[string][]string // of errors, by status
	media   map[string][]string // of answers, by status
	events  map[string]string   // name of an event → schema of its data
	foreign bool                // its errors have the form of another protocol
}

var (
	broker = sync.OnceValues(func() (*Checker, error) { return New(openapi.Broker().YAML) })
	host   = sync.OnceValues(func() (*Checker, error) { return New(openapi.Host().YAML) })
)

// Broker returns the checker of the broker's document.
func Broker(t testing.TB) *Checker { return must(t, broker) }

// Host returns the checker of the agent host's document.
func Host(t testing.TB) *Checker { return must(t, host) }

func must(t testing.TB, of func() (*Checker, error)) *Checker {
	t.Helper()
	c, err := of()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// New reads a document. It takes a second of a processor, so tests share checkers.
func New(document []byte) (*Checker, error) {
	closed, err := withoutOtherMembers(document)
	if err != nil {
		return nil, err
	}
	parsed, err := libopenapi.NewDocument(closed)
	if err != nil {
		return nil, err
	}
	v, errs := validator.NewValidator(parsed, config.WithFormatAssertions())
	if len(errs) > 0 {
		return nil, errs[0]
	}
	model, err := parsed.BuildV3Model()
	if err != nil {
		return nil, err
	}
	c := &Checker{validator: v, schemas: schema_validation.NewSchemaValidator(config.WithFormatAssertions())}
	c.components = func(name string) *base.Schema {
		proxy, _ := model.Model.Components.Schemas.Get(name)
		return proxy.Schema()
	}
	return c, c.readOperations(document)
}

// withoutOtherMembers returns a document whose objects have no members but those that it names.
func withoutOtherMembers(document []byte) ([]byte, error) {
	var d map[string]any
	if err := yaml.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	components, _ := d["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	for _, schema := range schemas {
		if object, ok := schema.(map[string]any); ok && object["properties"] != nil {
			object["additionalProperties"] = false
		}
	}
	return json.Marshal(d)
}

func (c *Checker) readOperations(document []byte) error {
	var d struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
			Responses  map[string]response
		}
		Components struct{ Responses map[string]response }
	}
	if err := yaml.Unmarshal(document, &d); err != nil {
		return err
	}
	for path, methods := range d.Paths {
		for method, op := range methods {
			one := operation{
				method: strings.ToUpper(method), path: strings.Split(path, "/"),
				codes: map[string][]string{}, media: map[string][]string{}, events: map[string]string{},
			}
			for _, p := range op.Parameters {
				one.query = append(one.query, p.Name)
			}
			for status, r := range op.Responses {
				if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
					r = d.Components.Responses[name]
				}
				one.codes[status] = r.Codes
				one.media[status] = slices.Collect(maps.Keys(r.Content))
				one.foreign = one.foreign || status == "500" && len(r.Codes) == 0
				for _, e := range r.Events {
					one.events[e.Event] = strings.TrimPrefix(e.Data.Ref, "#/components/schemas/")
				}
			}
			c.operations = append(c.operations, one)
		}
	}
	return nil
}

type response struct {
	Ref     string `yaml:"$ref"`
	Content map[string]any
	Codes   []string `yaml:"x-codes"`
	Events  []struct {
		Event string
		Data  struct {
			Ref string `yaml:"$ref"`
		}
	} `yaml:"x-events"`
}

// find returns the operation of a request, nil if the document has none.
func (c *Checker) find(r *http.Request) *operation {
	elements := elementsOf(r)
	var found *operation
	for i := range c.operations {
		op := &c.operations[i]
		fits := op.method == r.Method && slices.EqualFunc(op.path, elements, func(pattern, element string) bool {
			return pattern == element || strings.HasPrefix(pattern, "{") && element != ""
		})
		if fits && (found == nil || op.parameters() < found.parameters()) {
			found = op
		}
	}
	return found
}

// parameters returns how many elements of the path are parameters.
func (op *operation) parameters() int { return strings.Count(strings.Join(op.path, "/"), "/{") }

// elementsOf returns the elements of a request's path, without the slashes that are escaped in them.
func elementsOf(r *http.Request) []string {
	elements := strings.Split(r.URL.EscapedPath(), "/")
	for i, e := range elements {
		if plain, err := url.PathUnescape(e); err == nil {
			elements[i] = strings.ReplaceAll(plain, "/", "_")
		}
	}
	return elements
}

// Exchange reports through t what the document does not allow in a request and its answer. A request that was refused
// may be anything, because tests send bad input on purpose. Streams that are cut must end behind a frame.
func (c *Checker) Exchange(t testing.TB, r *http.Request, sent []byte, status int, header http.Header, got []byte) {
	t.Helper()
	if r.Method == http.MethodOptions || r.Method == http.MethodHead {
		return
	}
	op := c.find(r)
	if op == nil {
		if status < http.StatusBadRequest && strings.HasPrefix(r.URL.Path, "/api/") { // others are pages of the console
			t.Errorf("%s %s: %d, and the document has no such operation", r.Method, r.URL.Path, status)
		}
		return
	}
	c.checkRequest(t, r, op, sent, status)
	c.checkAnswer(t, r, op, status, header, got)
	c.checkCode(t, r, op, status, got)
}

// asSent returns a copy of a request with its body.
func asSent(r *http.Request, sent []byte) *http.Request {
	request := r.Clone(r.Context())
	request.URL.Path, request.URL.RawPath = strings.Join(elementsOf(r), "/"), ""
	query := request.URL.Query()
	// An empty value counts as none.
	maps.DeleteFunc(query, func(_ string, values []string) bool { return len(values) == 1 && values[0] == "" })
	request.URL.RawQuery = query.Encode()
	request.Body = io.NopCloser(bytes.NewReader(sent))
	if len(sent) == 0 {
		request.Body = http.NoBody
	}
	return request
}

// checkRequest checks a request that was accepted.
func (c *Checker) checkRequest(t testing.TB, r *http.Request, op *operation, sent []byte, status int) {
	t.Helper()
	if status >= http.StatusBadRequest {
		return
	}
	if valid, problems := c.validator.ValidateHttpRequest(asSent(r, sent)); !valid {
		t.Errorf("%s %s: the request %s was accepted: %s", r.Method, r.URL.Path, short(sent), list(problems))
	}
	for name := range r.URL.Query() {
		if !slices.Contains(op.query, name) && name != "token" { // a credential, which a scheme names
			t.Errorf("%s %s: the request was accepted with the unknown parameter %s", r.Method, r.URL.Path, name)
		}
	}
}

// checkAnswer checks the status, the media type and the body of an answer.
func (c *Checker) checkAnswer(
	t testing.TB, r *http.Request, op *operation, status int, header http.Header, got []byte,
) {
	t.Helper()
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	known, found := op.media[fmt.Sprint(status)]
	switch {
	case !found:
		t.Errorf("%s %s: the answer has the status %d, which the document does not name: %s",
			r.Method, r.URL.Path, status, short(got))
	case len(got) > 0 && !slices.ContainsFunc(known, func(pattern string) bool { return fits(pattern, media) }):
		t.Errorf("%s %s: the answer %d is %s, the document has %q", r.Method, r.URL.Path, status, media, known)
	case media == "text/event-stream":
		c.checkFrames(t, r, op, got)
	case media == "application/json":
		answer := &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader(got))}
		if valid, problems := c.validator.ValidateHttpResponse(asSent(r, nil), answer); !valid {
			t.Errorf("%s %s: the answer %d %s: %s", r.Method, r.URL.Path, status, short(got), list(problems))
		}
	}
}

// fits reports whether a media type is of a range such as image/*.
func fits(pattern, media string) bool {
	prefix, isRange := strings.CutSuffix(pattern, "*")
	return pattern == media || isRange && strings.HasPrefix(media, prefix)
}

// checkCode checks that the document names the code of an error. A bad_gateway can carry any code of a host.
func (c *Checker) checkCode(t testing.TB, r *http.Request, op *operation, status int, got []byte) {
	t.Helper()
	if status < http.StatusBadRequest || status == http.StatusBadGateway || op.foreign {
		return
	}
	var body struct{ Code string }
	if err := json.Unmarshal(got, &body); err != nil {
		t.Errorf("%s %s: %d %s: %v", r.Method, r.URL.Path, status, short(got), err)
	}
	if codes := op.codes[fmt.Sprint(status)]; !slices.Contains(codes, body.Code) {
		t.Errorf("%s %s: %d with the code %q, the document has %q", r.Method, r.URL.Path, status, body.Code, codes)
	}
}

// list writes problems in one line.
func list(problems []*validation.ValidationError) string {
	var all []string
	for _, p := range problems {
		text := p.Message + ": " + p.Reason
		for _, s := range p.SchemaValidationErrors {
			text += fmt.Sprintf("; %s at %s", s.Reason, s.FieldPath)
		}
		all = append(all, text)
	}
	return strings.Join(all, " | ")
}

func short(raw []byte) string {
	if len(raw) > 300 {
		return string(raw[:300]) + "…"
	}
	return string(raw)
}
