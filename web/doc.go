// Package web serves the console: the build that is embedded in the binary, or,
// when it was built without one, a page that signs in and says how to get it.
//
// It owns the caching and the policy of these files. What the console does is in
// src/, the client that it uses, and that other frontends may use, in client/.
package web
