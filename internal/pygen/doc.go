// Command pygen writes the generated half of the Python client from an OpenAPI document: a type for each schema, and a
// method for each operation that answers with JSON or text. Streams are written by hand, in clients/python/bellhop.
//
// It decides nothing: the document does.
package main

//go:generate go run bellhop/internal/pygen ../..
