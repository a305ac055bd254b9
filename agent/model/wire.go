package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"bellhop/internal/sse"
)

// endpoint is an address of a provider that takes a request in JSON and streams its answer.
type endpoint struct {
	client *http.Client
	url    string
	header http.Header
}

// newEndpoint returns the endpoint at a path below the base URL, which Options.check has checked.
func newEndpoint(o *Options, path string) *endpoint {
	e := &endpoint{client: o.Client, url: o.BaseURL, header: http.Header{
		"Accept":       {eventStreamType},
		"Content-Type": {"application/json"},
		"User-Agent":   {"bellhop"},
	}}
	base, err := url.Parse(o.BaseURL)
	if err != nil {
		return e
	}
	if base.Path != "" && !strings.HasSuffix(base.Path, "/") {
		base.Path += "/"
	}
	e.url = base.ResolveReference(&url.URL{Path: path}).String()
	return e
}

const eventStreamType = "text/event-stream"

// refusal is an error that the provider reports. Its message can contain the key.
type refusal struct {
	status  int // 200 if it came within the stream
	header  http.Header
	kind    string
	message string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the provider refused the request (%d)", r.status)
}

// noStreamError means that a successful answer has another media type than a stream.
type noStreamError struct{ mediaType string }

func (e *noStreamError) Error() string {
	return fmt.Sprintf("the answer is %q instead of a stream", e.mediaType)
}

// events posts a request and returns the events of the answer until its end. Members that E does
// not have, or has with another type, are ignored. The last error is a *refusal, a
// *noStreamError, errBroken, or one of the connection.
func events[E any](ctx context.Context, e *endpoint, request any) iter.Seq2[*E, error] {
	return func(yield func(*E, error) bool) {
		response, err := e.post(ctx, request)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = response.Body.Close() }()
		// A stream may end without the empty line that completes its last frame.
		frames := sse.NewReader(io.MultiReader(response.Body, strings.NewReader("\n\n")))
		for {
			frame, err := frames.Next()
			if errors.Is(err, io.EOF) || bytes.HasPrefix(frame.Data, []byte("[DONE]")) {
				return
			}
			event := new(E)
			if err == nil {
				err = parse(frame, response, event)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(event, nil) {
				return
			}
		}
	}
}

// post returns a response with a stream, whose body the caller must close.
func (e *endpoint) post(ctx context.Context, request any) (*http.Response, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(request); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, &body)
	if err != nil {
		return nil, err
	}
	r.Header = e.header.Clone()
	response, err := e.client.Do(r)
	if err != nil {
		return nil, err
	}
	mediaType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode/100 == 2 && mediaType == eventStreamType {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	return nil, unstreamed(response, mediaType)
}

// maxErrorBody limits how many bytes are read of an answer that is no stream.
const maxErrorBody = 64 << 10

// unstreamed returns the error of an answer that is no stream.
func unstreamed(response *http.Response, mediaType string) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)) // without all of it, no reason is given
	r, reported := reportedError(body)
	if !reported && response.StatusCode/100 == 2 {
		return &noStreamError{mediaType: mediaType}
	}
	r.status, r.header = response.StatusCode, response.Header
	if r.status/100 == 3 {
		r.message = "another address"
		if to, err := response.Location(); err == nil {
			r.message = to.Scheme + "://" + to.Host + to.EscapedPath() // a query may contain secrets
		}
	}
	return r
}

// parse reads the event of a frame. A frame without text is an event without members.
func parse(frame sse.Frame, response *http.Response, event any) error {
	r, reported := reportedError(frame.Data)
	if reported || frame.Event == "error" {
		r.status, r.header = response.StatusCode, response.Header
		return r
	}
	if len(bytes.TrimSpace(frame.Data)) > 0 && decode(frame.Data, event) != nil {
		return errBroken
	}
	return nil
}

// reportedError reads {"error": {"type", "message"}} or {"error": "message"}. It returns an empty
// refusal and false if data has no error.
func reportedError(data []byte) (*refusal, bool) {
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	if decode(data, &body) != nil || body.Error == nil || string(body.Error) == "null" {
		return &refusal{}, false
	}
	var details struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body.Error, &details.Message) != nil {
		_ = decode(body.Error, &details) // valid, as a part of body
	}
	return &refusal{kind: details.Type, message: details.Message}, true
}

// decode is json.Unmarshal, but members of another type than expected are left out.
func decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return nil
	}
	return err
}
