package heldtime

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"bellhop/internal/replacefile"
)

// File is a Store for data that is in files: a file in their directory. Before it is made, the newest time is that of the
// directory's files.
type File string

// HeldTime implements Store.
func (f File) HeldTime(context.Context) (state State, err error) {
	content, err := os.ReadFile(string(f))
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		if err == nil {
			err = json.Unmarshal(content, &state)
		}
		return state, err
	}
	beside, _ := os.ReadDir(filepath.Dir(string(f))) // without the directory there is nothing to delete
	for _, entry := range beside {
		if info, err := entry.Info(); err == nil && info.ModTime().After(state.At) {
			state.At = info.ModTime()
		}
	}
	return state, nil
}

// StoreHeldTime implements Store.
func (f File) StoreHeldTime(ctx context.Context, state State) error {
	if stored, err := f.HeldTime(ctx); err == nil && stored.At.After(state.At) {
		state.At = stored.At
	}
	content, err := json.Marshal(state)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(string(f)), 0o700)
	}
	if err == nil {
		err = replacefile.Write(string(f), content, 0o600)
	}
	return err
}

// ServerTime implements Store.
func (f File) ServerTime(context.Context) (time.Time, error) { return time.Time{}, nil }
