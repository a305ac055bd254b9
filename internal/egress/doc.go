// Package egress is the way out for programs that have no network of their own: a proxy for
// HTTP, which allows only the targets that a client's rules list, and a gateway to models,
// which adds their keys.
//
// It owns what may pass. It does not own how programs reach it (agenthost/sandbox forwards
// their connections) nor which rules a client has (its caller decides by the first line of a
// connection, which the program cannot write).
//
//	program ─► launcher ─► "CLIENT\n" ─► CONNECT name:443     name and address are checked
//	                                     GET http://name/ …   the same
//	                                     POST /openai/…       a route: the key is added
//
// A name alone allows public addresses only. Loopback, private, link-local and metadata
// addresses need an entry of their own, whatever name leads to them.
package egress
