// Package apicheck checks the requests and answers of tests against the OpenAPI documents.
//
// An accepted request, and every answer, must be what the document says: no other status, code, member or type. Only
// tests are so strict; clients ignore what they do not know.
package apicheck
