// Command gen writes the OpenAPI documents. Run it with go generate ./internal/app/apitable.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"bellhop/internal/app/apitable"
)

// root is the module's directory, seen from the package that has the go:generate line.
const root = "../../.."

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write() error {
	documents, err := apitable.Documents(root)
	if err != nil {
		return err
	}
	for name, content := range documents {
		//nolint:gosec // a document, as readable as its neighbours
		if err := os.WriteFile(filepath.Join(root, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
