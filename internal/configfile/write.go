package configfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Write expands template (see Expand) into the file path with mode 0600. A missing folder is
// created with mode 0700. The file is replaced atomically: an agent that reads it meanwhile
// sees the old or the new version.
func Write(path, template string, variables map[string]string, quote func(string) string) error {
	content, err := Expand(template, variables, quote)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// CreateTemp makes files 0600.
	file, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
