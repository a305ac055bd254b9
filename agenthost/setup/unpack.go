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

// unpack writes the files of an npm package to dir and drops the first element of
// their paths. It refuses links: npm packages have none, and a link could lead out of
// dir. Of modes it keeps only the executable bit; it sets no owners or times.
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
	// os.Root refuses every name that leads out of dir.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(unpackEntries(ctx, root, tar.NewReader(compressed)), root.Close())
}

func unpackEntries(ctx context.Context, root *os.Root, entries *tar.Reader) error {
	remaining := int64(maxUnpacked)
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
		if remaining -= header.Size; remaining < 0 {
			return fmt.Errorf("more than %d bytes: refused", maxUnpacked)
		}
		if err := unpackEntry(ctx, root, header, entries); err != nil {
			return err
		}
	}
}

func unpackEntry(ctx context.Context, root *os.Root, header *tar.Header, content io.Reader) error {
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
		if name == "" {
			return fmt.Errorf("%q is outside the package's directory: refused", header.Name)
		}
		return unpackFile(ctx, root, name, header.Mode&0o111 != 0, content)
	default:
		return fmt.Errorf("%q is neither a file nor a directory: refused", header.Name)
	}
}

func unpackFile(ctx context.Context, root *os.Root, name string, executable bool, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil || !executable {
		return err
	}
	return awaitWriters(ctx, root, name)
}

// entryName returns an entry's path without its first element; "" is the package's
// directory itself.
func entryName(name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`) {
		return "", fmt.Errorf("%q leads out of the package: refused", name)
	}
	_, inside, _ := strings.Cut(path.Clean(name), "/")
	return filepath.FromSlash(inside), nil
}

// writeSynced writes a new file and syncs it to the disk.
func writeSynced(name string, content []byte) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}
