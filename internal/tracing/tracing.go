// Package tracing exports the operations of broker and host as spans of OpenTelemetry, over
// OTLP/HTTP. The domains know only package observe; a span has no text of users.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"bellhop/crypto/seal"
	"bellhop/internal/observe"
	"bellhop/protocol"
)

// Options configure New.
type Options struct {
	URL     string      // of the collector, such as http://127.0.0.1:4318; "" = no traces
	Headers seal.Secret // of requests to the collector: NAME=VALUE, comma-separated
	Ratio   float64     // of the traces that are exported, 0 to 1
	Service string      // bellhop-broker or bellhop-host
	Version string
	Log     *slog.Logger
}

// Tracer exports spans. It implements observe.Observer.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

var _ observe.Observer = (*Tracer)(nil)

// New returns a tracer, nil without a URL. CodeInvalid says which option is wrong.
func New(ctx context.Context, o Options) (*Tracer, error) {
	if o.URL == "" {
		return nil, nil //nolint:nilnil // nothing is exported
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "the address for traces must be an http or https URL without a password",
			Hint: "An example is http://127.0.0.1:4318",
		}
	}
	if o.Ratio < 0 || o.Ratio > 1 {
		return nil, protocol.Errorf(protocol.CodeInvalid, "the share of traces must be from 0 to 1")
	}
	headers, err := parseHeaders(o.Headers)
	if err != nil {
		return nil, err
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.String()), otlptracehttp.WithHeaders(headers),
		otlptracehttp.WithTimeout(exportTimeout))
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	provider := sdk.NewTracerProvider(
		// By the id alone, so that all servers with the same share choose the same traces, whatever a client's flags say.
		sdk.WithBatcher(reporting{exporter, o.Log}), sdk.WithSampler(sdk.TraceIDRatioBased(o.Ratio)),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", o.Service), attribute.String("service.version", o.Version))),
	)
	o.Log.InfoContext(ctx, "traces are exported", "to", u.Scheme+"://"+u.Host, "share", o.Ratio)
	return newTracer(provider), nil
}

func newTracer(provider *sdk.TracerProvider) *Tracer {
	return &Tracer{provider: provider, tracer: provider.Tracer("bellhop")}
}

const exportTimeout = 10 * time.Second

// reporting logs what cannot be exported: the SDK has only one handler of errors for the process.
type reporting struct {
	sdk.SpanExporter

	log *slog.Logger
}

// ExportSpans implements sdk.SpanExporter.
func (r reporting) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := r.SpanExporter.ExportSpans(ctx, spans); err != nil {
		r.log.WarnContext(ctx, "traces could not be exported", "spans", len(spans), "err", err)
	}
	return nil
}

func parseHeaders(secret seal.Secret) (map[string]string, error) {
	headers := map[string]string{}
	if secret.IsZero() {
		return headers, nil
	}
	for entry := range strings.SplitSeq(secret.Reveal(), ",") {
		name, value, found := strings.Cut(strings.TrimSpace(entry), "=")
		if !found || name == "" {
			return nil, protocol.Errorf(protocol.CodeInvalid, "the headers for traces must be NAME=VALUE, comma-separated")
		}
		headers[name] = value
	}
	return headers, nil
}

// Observer returns the tracer as an observer; nil if there is none.
func (t *Tracer) Observer() observe.Observer {
	if t == nil {
		return nil
	}
	return t
}

// Close exports the last spans, until ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// kinds are the names and kinds of spans.
var kinds = map[observe.Operation]struct {
	name string
	kind trace.SpanKind
}{
	observe.Request:   {"", trace.SpanKindServer}, // named by method and route
	observe.CheckIn:   {"check-in", trace.SpanKindInternal},
	observe.Ingest:    {"ingest", trace.SpanKindInternal},
	observe.Call:      {"call", trace.SpanKindClient},
	observe.Turn:      {"turn", trace.SpanKindInternal},
	observe.Post:      {"post events", trace.SpanKindClient},
	observe.Attempt:   {"deliver", trace.SpanKindClient},
	observe.Retention: {"retention", trace.SpanKindInternal},
}

// Begin implements observe.Observer. The span is a child of the operation in ctx, or of the trace that a
// request came with. A trace that is not exported is passed on all the same. The ingest of a request, the most frequent
// operation, has no span: it is nearly all of its request, whose span has its counts.
func (t *Tracer) Begin(ctx context.Context, start observe.Start) (context.Context, observe.Observer) {
	if start.Operation == observe.Ingest && exportedIn(ctx).is(observe.Request) {
		return ctx, t
	}
	known := kinds[start.Operation]
	name := strings.TrimSpace(known.name + " " + start.Name)
	if start.Operation == observe.Request {
		name = start.Method + " " + start.Name
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(known.kind))
	if !span.IsRecording() {
		return ctx, nil
	}
	return context.WithValue(ctx, exportedKey{}, &exported{span, start.Operation}), t
}

// End implements observe.Observer.
func (t *Tracer) End(ctx context.Context, start observe.Start, _ time.Duration, out observe.Outcome) {
	if e := exportedIn(ctx); e.is(start.Operation) {
		end(e.span, start, &out)
	} else {
		e.span.SetAttributes(ingested(&out)...)
	}
}

// exported is the span of an operation.
type exported struct {
	span trace.Span
	of   observe.Operation
}

type exportedKey struct{}

// exportedIn returns the span in ctx; nil if that is another one, such as one that a request came with.
func exportedIn(ctx context.Context) *exported {
	e, ok := ctx.Value(exportedKey{}).(*exported)
	if !ok || e.span != trace.SpanFromContext(ctx) {
		return nil
	}
	return e
}

func (e *exported) is(operation observe.Operation) bool { return e != nil && e.of == operation }

func end(span trace.Span, start observe.Start, out *observe.Outcome) {
	attributes := make([]attribute.KeyValue, 0, 6)
	if start.Operation == observe.Request {
		attributes = append(attributes,
			attribute.String("http.request.method", start.Method), attribute.String("http.route", start.Name))
	}
	attributes = append(attributes, attribute.String("bellhop.result", out.ResultOf()))
	if out.Status != 0 {
		attributes = append(attributes, attribute.Int("http.response.status_code", out.Status))
	}
	if out.Accepted != 0 || out.Duplicates != 0 {
		attributes = append(attributes, ingested(out)...)
	}
	span.SetAttributes(attributes...)
	if out.Err != nil && out.Status == 0 || out.Status >= 500 { // a refused request is no error of the server
		span.SetStatus(codes.Error, out.ResultOf())
	}
	span.End()
}

func ingested(out *observe.Outcome) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.Int("bellhop.accepted", out.Accepted), attribute.Int("bellhop.duplicates", out.Duplicates),
	}
}
