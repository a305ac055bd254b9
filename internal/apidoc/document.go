package apidoc

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// Document is the API of one server.
type Document struct {
	Title, Text string
	Server      string // address of an example server
	Tags        []Tag
	Schemes     []Scheme
	Routes      []Route
	Webhooks    []Webhook         // what the server sends by itself
	Also        []reflect.Type    // further schemas
	Open        []reflect.Type    // sets of constants to which other programs add values
	Problem     reflect.Type      // the body of errors
	Parameters  map[string]string // descriptions of parameters whose fields have no comment
}

// Tag is a group of operations.
type Tag struct{ Name, Text string }

// Scheme is a way in which callers prove who they are.
type Scheme struct {
	Name, Kind, Text string // Kind is bearer, cookie, header or query
	Member           string // the name of the cookie, header or query parameter
}

// Route is an endpoint with its row of the table.
type Route struct {
	httpapi.Endpoint
	Operation

	Security []Requirement // one of them has to be met; none is a route without credentials
}

// Requirement is a set of schemes that are used together.
type Requirement []Use

// Use is a scheme with the scopes that it needs.
type Use struct {
	Scheme string
	Scopes []string
}

// Operation is what a table says about a route beside the types of its handler.
type Operation struct {
	ID      string // unique in the document: clients name their methods after it
	Tag     string
	Summary string
	Text    string // further sentences; may be empty

	Codes   []protocol.Code // of errors, besides those of every route of its kind
	Never   []protocol.Code // those of every route of its kind that this one never answers
	Also    []Success
	Headers []Header
	Needs   []string // query parameters that are required

	AnyError bool // errors have the form of another protocol
}

// Success is a further status without an error.
type Success struct {
	Status int
	Text   string
	Media  string       // "" has no body, unless Body is set
	Body   reflect.Type // nil is any body of Media
}

// Header is a header field of requests.
type Header struct{ Name, Text string }

// Webhook is a request that the server sends.
type Webhook struct {
	Name, Summary string
	Body          reflect.Type
}

// YAML writes the document. root is the directory of the module, whose doc comments it reads.
func (d *Document) YAML(root, module string) ([]byte, error) {
	w := &writer{Document: d, schemas: &schemas{
		comments: &comments{root: root, module: module + "/", read: map[string]*packageComments{}},
		byName:   map[string]object{}, names: map[reflect.Type]string{}, taken: map[string]reflect.Type{},
		sent: map[reflect.Type]bool{}, open: d.Open,
	}}
	for _, r := range d.Routes {
		w.markAnswers(&r)
	}
	for _, t := range append([]reflect.Type{d.Problem}, d.Also...) {
		w.schemas.markSent(t)
	}
	for _, hook := range d.Webhooks {
		w.schemas.markSent(hook.Body)
	}
	document, err := w.document()
	if err != nil {
		return nil, err
	}
	return encode(document)
}

// writer writes one document.
type writer struct {
	*Document

	schemas *schemas
	failed  []error
}

func (w *writer) markAnswers(r *Route) {
	if r.Response != nil {
		w.schemas.markSent(r.Response)
	}
	for _, also := range r.Also {
		if also.Body != nil {
			w.schemas.markSent(also.Body)
		}
	}
	for _, e := range r.Events {
		w.schemas.markSent(e.Data)
	}
}

func (w *writer) document() (object, error) {
	paths, webhooks := w.paths(), w.webhooks()
	for _, t := range w.Also {
		w.schema(t)
	}
	components := fields("securitySchemes", w.schemes(), "responses", w.sharedResponses(), "schemas", w.components())
	var tags []any
	for _, t := range w.Tags {
		tags = append(tags, fields("name", t.Name, "description", t.Text))
	}
	return fields(
		"openapi", "3.1.0",
		"info", fields("title", w.Title, "version", "1", "description", w.Text),
		"servers", []any{fields("url", w.Server)},
		"tags", tags, "paths", paths, "webhooks", webhooks, "components", components,
	), errors.Join(w.failed...)
}

func (w *writer) components() object {
	var all object
	for _, name := range slices.Sorted(maps.Keys(w.schemas.byName)) {
		all = append(all, fields(name, w.schemas.byName[name])...)
	}
	return all
}

func (w *writer) schemes() object {
	var all object
	for _, s := range w.Schemes {
		scheme := fields("type", "apiKey", "in", s.Kind, "name", s.Member, "description", s.Text)
		if s.Kind == "bearer" {
			scheme = fields("type", "http", "scheme", "bearer", "description", s.Text)
		}
		all = append(all, fields(s.Name, scheme)...)
	}
	return all
}

func (w *writer) fail(format string, args ...any) {
	w.failed = append(w.failed, fmt.Errorf(format, args...))
}

// schema returns the schema of a type, or records that it has none.
func (w *writer) schema(t reflect.Type) any {
	schema, err := w.schemas.of(t)
	if err != nil {
		w.failed = append(w.failed, err)
	}
	return schema
}

func (w *writer) webhooks() object {
	var all object
	for _, hook := range w.Webhooks {
		all = append(all, fields(hook.Name, fields("post", fields(
			"summary", hook.Summary,
			"requestBody", fields("required", true,
				"content", fields("application/json", fields("schema", w.schema(hook.Body)))),
			"responses", fields("2XX", fields("description", "The message was received. Any other status is tried again.")),
		)))...)
	}
	return all
}

// paths has the operations by path, in the order of the routes.
func (w *writer) paths() object {
	var order []string
	byPath, ids := map[string]object{}, map[string]string{}
	for i := range w.Routes {
		r := &w.Routes[i]
		route := r.Method + " " + r.Path
		if other, used := ids[r.ID]; used || r.ID == "" {
			w.fail("%s needs an id of its own; %q is that of %s", route, r.ID, other)
		}
		ids[r.ID] = route
		if r.Summary == "" || !slices.ContainsFunc(w.Tags, func(t Tag) bool { return t.Name == r.Tag }) {
			w.fail("%s needs a summary and a known tag", route)
		}
		path := curly(r.Path)
		if byPath[path] == nil {
			order = append(order, path)
		}
		byPath[path] = append(byPath[path], fields(strings.ToLower(r.Method), w.operation(r))...)
	}
	var all object
	for _, path := range order {
		all = append(all, fields(path, byPath[path])...)
	}
	return all
}

// curly writes the parameters of a path as OpenAPI does: /tasks/{id}.
func curly(path string) string {
	elements := strings.Split(path, "/")
	for i, element := range elements {
		if name, ok := strings.CutPrefix(element, ":"); ok {
			elements[i] = "{" + name + "}"
		}
	}
	return strings.Join(elements, "/")
}

func (w *writer) operation(r *Route) object {
	operation := fields(
		"operationId", r.ID, "tags", []string{r.Tag}, "summary", r.Summary, "description", r.Text,
		"parameters", w.parameters(r), "requestBody", w.requestBody(r), "responses", w.responses(r),
	)
	security := []any{}
	for _, requirement := range r.Security {
		var all object
		for _, use := range requirement {
			scopes := use.Scopes
			if scopes == nil {
				scopes = []string{}
			}
			all = append(all, object{{Key: use.Scheme, Value: scopes}}...)
		}
		security = append(security, all)
	}
	return append(operation, object{{Key: "security", Value: security}}...) // an empty list needs no credential
}

// parameters are those in the path and the query, and the header fields of the table.
func (w *writer) parameters(r *Route) []any {
	var all []any
	seen := map[string]bool{}
	if r.Request != nil {
		for _, f := range visible(r.Request) {
			for _, in := range []string{"path", "query"} {
				name := f.Tag.Get(map[string]string{"path": "param", "query": "query"}[in])
				if name == "" {
					continue
				}
				seen[name] = true
				isRequired := in == "path" || slices.Contains(r.Needs, name)
				all = append(all, fields("name", name, "in", in, "required", isRequired,
					"description", w.parameterText(r, &f, name), "schema", w.schema(f.Type)))
			}
		}
	}
	for _, element := range strings.Split(r.Path, "/") {
		if name, ok := strings.CutPrefix(element, ":"); ok && !seen[name] {
			all = append(all, fields("name", name, "in", "path", "required", true,
				"description", w.parameterText(r, nil, name), "schema", fields("type", "string")))
		}
	}
	for _, h := range r.Headers {
		all = append(all, fields("name", h.Name, "in", "header", "description", h.Text, "schema", fields("type", "string")))
	}
	return all
}

func (w *writer) parameterText(r *Route, f *reflect.StructField, name string) string {
	text := ""
	if f != nil {
		owner := r.Request
		for _, i := range f.Index[:len(f.Index)-1] {
			owner = owner.Field(i).Type
		}
		docs, err := w.schemas.comments.of(owner.PkgPath())
		if err != nil {
			w.failed = append(w.failed, err)
			return ""
		}
		text = docs.translate(docs.fields[owner.Name()][f.Name], nil)
	}
	text = cmp.Or(text, w.Parameters[name])
	if text == "" {
		w.fail("%s %s: the parameter %s needs a description", r.Method, r.Path, name)
	}
	return text
}

func (w *writer) requestBody(r *Route) object {
	body := bodyOf(&r.Endpoint)
	if len(body) == 0 {
		return nil
	}
	schema := w.schema(body[0])
	if len(body) > 1 {
		all := []any{}
		for _, t := range body {
			all = append(all, w.schema(t))
		}
		schema = fields("anyOf", all)
	}
	return fields("required", !r.OptionalBody, "x-max-bytes", cmp.Or(r.MaxBody, httpapi.DefaultMaxBody),
		"content", fields("application/json", fields("schema", schema)))
}

// bodyOf returns the types of which a route's body has one; none if it takes no body.
func bodyOf(e *httpapi.Endpoint) []reflect.Type {
	takesBody := e.Method == http.MethodPost || e.Method == http.MethodPut || e.Method == http.MethodPatch
	switch {
	case len(e.Bodies) > 0:
		return e.Bodies
	case e.Request == nil || !takesBody:
		return nil
	}
	for _, f := range visible(e.Request) {
		if !f.Anonymous && f.IsExported() && memberName(&f) != "" {
			return []reflect.Type{e.Request}
		}
	}
	return nil
}

// visible returns the fields of a struct with those of the structs that it embeds; of the empty struct none.
func visible(t reflect.Type) []reflect.StructField {
	if t.Kind() != reflect.Struct {
		return nil
	}
	return reflect.VisibleFields(t)
}
