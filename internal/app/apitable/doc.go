// Package apitable has the table of what the OpenAPI documents say about the routes of broker and host beside their
// types: an id, a tag, a summary, and the codes of their own errors. It joins the table with the routes as the servers
// register them, and writes openapi/broker.yaml and openapi/host.yaml.
//
// A route without a row fails a test, and so does a row without a route. No server imports this package.
package apitable

//go:generate go run bellhop/internal/app/apitable/gen
