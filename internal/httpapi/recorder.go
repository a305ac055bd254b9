package httpapi

import (
	"bytes"
	"net/http"
)

// Recorder is an http.ResponseWriter that keeps a response, to be sent later or by other means. Fields sets where its
// header goes. Without a call of WriteHeader the status is 0.
type Recorder struct {
	Fields http.Header
	Status int
	Body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *Recorder) Header() http.Header { return r.Fields }

// WriteHeader implements http.ResponseWriter.
func (r *Recorder) WriteHeader(status int) { r.Status = status }

// Write implements http.ResponseWriter.
func (r *Recorder) Write(part []byte) (int, error) { return r.Body.Write(part) }
