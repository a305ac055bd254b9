// Package hosts calls agent hosts: it implements broker.Link over HTTP and turns
// failed calls into the errors of protocol section 1.1. It owns the calls' limits
// and their secrets: no error contains a password, token or URL of a host, and a
// host's own texts are shortened and cleaned before a user reads them. It does not
// choose or store hosts, and it does not retry; package broker does.
package hosts
