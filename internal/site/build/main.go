// Command build writes the documentation as a web site: build -o FOLDER, in the root of the repository.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"bellhop/internal/site"
)

func main() {
	folder := flag.String("o", "dist/site", "folder of the site")
	flag.Parse()
	if err := build(os.Stdout, *folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(out io.Writer, folder string) error {
	s, err := site.Read(os.DirFS("."))
	if err != nil {
		return err
	}
	if err := s.Write(folder); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "open %s/index.html\n", folder)
	return err
}
