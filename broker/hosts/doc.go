// Package hosts calls agent hosts: it implements broker.Link over HTTP and turns
// failed calls into the errors of protocol section 1.1. It owns the time limits and
// the secrets of these calls: no error contains a password, token or URL of a host,
// and texts from a host are shortened and cleaned before a user reads them. Package
// broker chooses hosts, stores them and retries.
package hosts
