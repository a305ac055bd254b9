package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// entry is a file of an archive: a path with slashes, and where its content is.
type entry struct {
	name string
	mode fs.FileMode
	from string // file
	text []byte // instead of from
}

func (e entry) open() (io.ReadCloser, int64, error) {
	if e.from == "" {
		return io.NopCloser(bytes.NewReader(e.text)), int64(len(e.text)), nil
	}
	file, err := os.Open(e.from)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// archives writes a compressed archive for each target: a zip file for Windows.
func (b *builder) archives(context.Context) error {
	for _, t := range b.Targets {
		entries := b.archiveEntries(t)
		path := filepath.Join(b.Output, b.archiveName(t))
		err := writeArchive(path, func(w io.Writer) error {
			if t.OS == "windows" {
				return writeZip(w, entries, b.Time)
			}
			return writeTarGz(w, entries, b.Time)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return nil
}

func (b *builder) archiveName(t Target) string {
	if t.OS == "windows" {
		return b.fileName(t.String()) + ".zip"
	}
	return b.fileName(t.String()) + ".tar.gz"
}

func (b *builder) archiveEntries(t Target) []entry {
	names := []string{
		"CHANGELOG.md", "LICENSE", "NOTICES", "README.md", "bellhop.1",
		"completions/_bellhop", "completions/bellhop.bash", "completions/bellhop.fish",
	}
	if t.OS == "windows" {
		names = names[:4]
	}
	entries := []entry{{name: t.binary(), mode: 0o755, from: b.binaryPath(t)}}
	for _, name := range names {
		entries = append(entries, entry{name: name, mode: 0o644, from: b.staged("share", name)})
	}
	if t.OS != "linux" {
		return entries
	}
	for _, name := range []string{"bellhop-broker.service", "bellhop-host.service", "bellhop.sysusers"} {
		entries = append(entries, entry{
			name: "systemd/" + name, mode: 0o644, from: b.source("deploy", "package", "systemd", name),
		})
	}
	return entries
}

// writeArchive creates a file, and removes it if write fails.
func writeArchive(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a release is public
	if err != nil {
		return err
	}
	if err := errors.Join(write(file), file.Chmod(0o644), file.Close()); err != nil { //nolint:gosec // as above
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func writeTarGz(w io.Writer, entries []entry, at time.Time) error {
	zipped, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(zipped, entries, at), zipped.Close())
}

// writeTar writes the entries in their order, with the directories that they need, all of root and of one time.
func writeTar(w io.Writer, entries []entry, at time.Time) error {
	out := tar.NewWriter(w)
	made := map[string]bool{".": true, "/": true}
	for _, e := range entries {
		if err := writeDirectories(out, path.Dir(e.name), made, at); err != nil {
			return err
		}
		if err := writeTarEntry(out, e, at); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return out.Close()
}

func writeDirectories(out *tar.Writer, dir string, made map[string]bool, at time.Time) error {
	if made[dir] {
		return nil
	}
	made[dir] = true
	if err := writeDirectories(out, path.Dir(dir), made, at); err != nil {
		return err
	}
	return out.WriteHeader(&tar.Header{
		Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: at.UTC(), Format: tar.FormatUSTAR,
	})
}

func writeTarEntry(out *tar.Writer, e entry, at time.Time) error {
	if e.mode.IsDir() {
		return out.WriteHeader(&tar.Header{
			Typeflag: tar.TypeDir, Name: e.name + "/", Mode: tarMode(e.mode), ModTime: at.UTC(), Format: tar.FormatUSTAR,
		})
	}
	content, size, err := e.open()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	err = out.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: e.name, Size: size, Mode: tarMode(e.mode), ModTime: at.UTC(), Format: tar.FormatUSTAR,
	})
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	return err
}

func tarMode(mode fs.FileMode) int64 {
	bits := int64(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return bits
}

func writeZip(w io.Writer, entries []entry, at time.Time) error {
	out := zip.NewWriter(w)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at.UTC()}
		header.SetMode(e.mode)
		file, err := out.CreateHeader(header)
		if err != nil {
			return err
		}
		content, _, err := e.open()
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		if err := errors.Join(err, content.Close()); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return out.Close()
}
