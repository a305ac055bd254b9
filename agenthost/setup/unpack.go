package setup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	maxUnpacked = 2 << 30
	maxFiles    = 50_000
)

// unpack writes the files of an npm package below dir, without the folder that
// all are in. Only files and folders are taken: npm packages have no links, and
// a link could lead out. Owners, times and every mode but "executable" are lost.
func unpack(ctx context.Context, archive, dir string) (err error) {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	compressed, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	// Root refuses to leave dir, whatever a name says.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	entries := tar.NewReader(compressed)
	left := int64(maxUnpacked)
	for count := 0; ; count++ {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if count == maxFiles {
			return fmt.Errorf("more than %d files: refused", maxFiles)
		}
		if left -= header.Size; left < 0 {
			return fmt.Errorf("more than %d bytes: refused", maxUnpacked)
		}
		if err := unpackEntry(root, header, entries); err != nil {
			return err
		}
	}
}

func unpackEntry(root *os.Root, header *tar.Header, content io.Reader) error {
	name, err := entryName(header.Name)
	if err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeDir:
		if name == "" {
			return nil
		}
		return root.MkdirAll(name, 0o755)
	case tar.TypeReg:
	default:
		return fmt.Errorf("%q is neither a file nor a folder: refused", header.Name)
	}
	if name == "" {
		return fmt.Errorf("%q is outside the package's folder: refused", header.Name)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if header.Mode&0o111 != 0 {
		mode = 0o755
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Sync(), file.Close())
}

// entryName is an entry's place below the package's folder; "" is that folder.
func entryName(name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`) {
		return "", fmt.Errorf("%q leads out of the package: refused", name)
	}
	_, inside, _ := strings.Cut(path.Clean(name), "/")
	return filepath.FromSlash(inside), nil
}

// writeSynced is os.WriteFile that has reached the disk when it returns.
func writeSynced(name string, content []byte) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}
