package configfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"bellhop/internal/owner"
)

// Write expands template (see Expand) into the file path with mode 0600. A missing folder is
// created with mode 0700. A process that can give files away gives both to the owner of the folder
// above, and follows no link of that owner. The file is replaced atomically: an agent that reads
// it meanwhile sees the old or the new version.
func Write(path, template string, variables map[string]string, quote func(string) string) error {
	content, err := Expand(template, variables, quote)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	dir := filepath.Dir(path)
	if err := checkLinks(dir); err != nil {
		return err
	}
	at, err := makeFolder(dir)
	if err != nil {
		return err
	}
	// CreateTemp makes files 0600.
	file, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	if at != owner.Self() {
		err = errors.Join(err, file.Chown(at.UID, at.GID))
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// makeFolder creates a missing folder with those above it, and returns its owner.
func makeFolder(dir string) (owner.ID, error) {
	if info, err := os.Stat(dir); err == nil {
		return folderOwner(info), nil
	}
	above, err := makeFolder(filepath.Dir(dir))
	if err != nil {
		return above, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return above, err
	}
	if above != owner.Self() {
		return above, os.Lchown(dir, above.UID, above.GID)
	}
	return above, nil
}

func folderOwner(info fs.FileInfo) owner.ID {
	if owner.CanGive() {
		return owner.Of(info)
	}
	return owner.Self()
}

// checkLinks refuses a folder that is reached by a link of another user: a program could lead
// the file of a host that runs as root to any folder.
func checkLinks(dir string) error {
	if !owner.CanGive() {
		return nil
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode().Type() == fs.ModeSymlink && owner.Of(info).UID != owner.Self().UID {
			return fmt.Errorf("the folder %s is a link that a program has made: remove it", dir)
		}
	}
	return nil
}
