// Package faultproxy owns a TCP proxy that fails on demand: delays, cuts, resets, silence,
// trickling or refusing. It is the core of testenv.Proxy without package testing, so that a
// load generator can use it too.
//
// A fault takes effect at once, on open and on new connections, and Pass ends it. The proxy
// does not interpret the bytes.
package faultproxy
