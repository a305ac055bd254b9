// Package apidoc writes OpenAPI 3.1 documents: schemas from the Go types of endpoints, descriptions from the doc
// comments of these types, and the rest from a table of operations.
//
// It runs when documents are generated and in tests. No server imports it.
package apidoc
