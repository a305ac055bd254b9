// Package openapi has the OpenAPI documents of broker and host, and serves them: as YAML, as JSON, and as a page for
// people that needs no other file.
//
// The documents are written by internal/app/apitable.
package openapi
