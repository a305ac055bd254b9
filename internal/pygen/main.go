package main

import (
	"fmt"
	"os"
)

// pairs are the documents and the modules that are written from them, below the module's directory.
var pairs = [][2]string{
	{"openapi/broker.yaml", "clients/python/bellhop/broker.py"},
	{"openapi/host.yaml", "clients/python/bellhop/host.py"},
}

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	for _, pair := range pairs {
		if err := write(root+"/"+pair[0], root+"/"+pair[1]); err != nil {
			fmt.Fprintln(os.Stderr, "pygen:", err)
			os.Exit(1)
		}
	}
}

func write(document, module string) error {
	code, err := Generate(document)
	if err != nil {
		return err
	}
	return os.WriteFile(module, []byte(code), 0o644) //nolint:gosec // source code, as readable as its neighbours
}
