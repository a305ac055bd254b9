package release

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"path/filepath"

	"bellhop/internal/licenses"
)

// bills writes the bill of materials of each binary, from the list of modules that the linker left in it.
func (b *builder) bills(context.Context) error {
	for _, t := range b.Targets {
		info, err := buildinfo.ReadFile(b.binaryPath(t))
		if err != nil {
			return err
		}
		var bill bytes.Buffer
		if err := licenses.WriteBill(&bill, b.Version, info); err != nil {
			return err
		}
		path := filepath.Join(b.Output, b.fileName(t.String())+".cdx.json")
		if err := writeFile(path, bill.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
