package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

//go:embed fallback
var fallback embed.FS

// Build returns the embedded build of the console. If there is none, ok is false,
// and the files are a page that explains how to build it ("make console").
func Build() (files fs.FS, ok bool) {
	if _, err := fs.Stat(dist, "dist/index.html"); err == nil {
		return sub(dist, "dist"), true
	}
	return sub(fallback, "fallback"), false
}

func sub(files fs.FS, dir string) fs.FS {
	s, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // only an invalid path fails, and dir is a constant
	}
	return s
}
