package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

//go:embed fallback
var fallback embed.FS

// Build returns the embedded build of the console; ok is false when there is none
// ("make console" makes it), and what is returned is the page that says so.
func Build() (files fs.FS, ok bool) {
	if _, err := fs.Stat(dist, "dist/index.html"); err == nil {
		return sub(dist, "dist"), true
	}
	return sub(fallback, "fallback"), false
}

func sub(files fs.FS, dir string) fs.FS {
	s, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // a constant path that is no path
	}
	return s
}
