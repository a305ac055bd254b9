package openflag

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Open opens the regular file name below dir for reading. It follows no link in any element of name, whose elements are
// separated by slashes, and waits for nothing. fs.ErrInvalid: the file is something else.
func Open(dir, name string) (*os.File, error) {
	file, err := openBelow(dir, name, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: file.Name(), Err: fmt.Errorf("no regular file: %w", fs.ErrInvalid)}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// ReadFile returns the content of a regular file of at most limit bytes. fs.ErrInvalid: it is longer, or something else.
func ReadFile(dir, name string, limit int64) ([]byte, error) {
	file, err := Open(dir, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = &fs.PathError{Op: "read", Path: file.Name(), Err: fmt.Errorf("over %d bytes: %w", limit, fs.ErrInvalid)}
	}
	return content, err
}

// ReadDir returns at most limit entries of the directory name below dir, in no order. Like Open, it follows no link.
func ReadDir(dir, name string, limit int) ([]fs.DirEntry, error) {
	file, err := openBelow(dir, name, Directory)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	entries, err := file.ReadDir(limit)
	if errors.Is(err, io.EOF) { // it is empty
		err = nil
	}
	return entries, err
}
