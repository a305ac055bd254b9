// Package spans is a collector of traces for tests.
package spans

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is an exported span, by its service. Result is its attribute bellhop.result.
type Span struct{ Service, Name, Trace, ID, Parent, Result string }

// Collector receives spans over OTLP and keeps them. A request that has none fails the test.
type Collector struct {
	URL string

	t testing.TB

	mu      sync.Mutex
	all     []Span
	headers []string // Authorization of the requests
}

// New starts a Collector that ends with the test.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{t: t}
	server := httptest.NewServer(http.HandlerFunc(c.export))
	c.URL = server.URL
	t.Cleanup(server.Close)
	return c
}

func (c *Collector) export(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
		c.t.Errorf("%s %s: no traces: %v", r.Method, r.URL, err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Get("Authorization"))
	for _, group := range request.GetResourceSpans() {
		service := group.GetResource().GetAttributes()[0].GetValue().GetStringValue()
		for _, scope := range group.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				one := Span{
					Service: service, Name: s.GetName(), Trace: hex.EncodeToString(s.GetTraceId()),
					ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
				}
				for _, a := range s.GetAttributes() {
					if a.GetKey() == "bellhop.result" {
						one.Result = a.GetValue().GetStringValue()
					}
				}
				c.all = append(c.all, one)
			}
		}
	}
}

// Path returns the spans from the root of a trace to the first span of a name, as SERVICE NAME.
func (c *Collector) Path(service, name string) (path []string, trace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.all {
		if s.Service != service || s.Name != name {
			continue
		}
		trace = s.Trace
		for found := true; found; {
			path = append(path, s.Service+" "+s.Name)
			at := slices.IndexFunc(c.all, func(other Span) bool { return other.ID == s.Parent && other.Trace == s.Trace })
			if found = at >= 0; found {
				s = c.all[at]
			}
		}
		slices.Reverse(path)
		return path, trace
	}
	return nil, ""
}

// Spans returns all spans that have arrived.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// Headers returns the header Authorization of each request.
func (c *Collector) Headers() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.headers)
}
