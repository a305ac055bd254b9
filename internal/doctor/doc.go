// Package doctor checks from outside what a broker and its hosts need to work together: their
// addresses, certificates, clocks, origins and streams. It makes requests and changes nothing.
// What it finds comes with a remedy.
//
// The broker's database and keyset are checked by the caller, which adds its findings.
package doctor
