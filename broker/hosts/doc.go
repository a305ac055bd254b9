// Package hosts is the broker's end of the line to agent hosts: it implements
// broker.Link over HTTP and turns what a host answers, or fails to answer, into
// the errors of protocol section 1.1. It owns the calls' limits and their
// secrets: no password, token or URL of a host stands in an error, and what a
// host says about itself is cut and cleaned before a user reads it. It does not
// choose hosts, keep them or retry; that is the broker's.
package hosts
