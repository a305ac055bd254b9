package openflag

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Open opens a regular file for reading. It does not follow a link in the last element of the path, and waits for
// nothing. fs.ErrInvalid: the file is something else.
func Open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|NoWait|NoFollow, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("no regular file: %w", fs.ErrInvalid)}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// ReadFile returns the content of a regular file of at most limit bytes. fs.ErrInvalid: it is longer, or something else.
func ReadFile(path string, limit int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("over %d bytes: %w", limit, fs.ErrInvalid)}
	}
	return content, err
}
