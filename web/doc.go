// Package web serves the console: the build that is embedded in the binary. If the
// binary has none, it serves a sign-in page that explains how to build the console.
//
// It owns the caching and the content policy of these files. The console's code is
// in src/; client/ is the TypeScript client that it and other frontends use.
package web
