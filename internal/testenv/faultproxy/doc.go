// Package faultproxy owns a TCP proxy that fails on demand: late, cut, reset,
// silent, trickling or refusing. It is the core of testenv.Proxy, free of
// package testing so that a load generator may use it too.
//
// A fault takes effect at once, on open connections as well as on new ones,
// and Pass ends it. It knows nothing of what it carries.
package faultproxy
