package configfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"bellhop/internal/openflag"
	"bellhop/internal/owner"
)

// Write expands template (see Expand) into the file name of a home with mode 0600. Missing folders get mode 0700, and
// all that is new belongs to the owner of the home. The file is replaced atomically: an agent that reads it meanwhile
// sees the old or the new version.
//
// Programs of the agent may change what is in the home at any moment, but not the home's own place. A link that they
// make leads nowhere outside of it.
func Write(home, name, template string, variables map[string]string, quote func(string) string) error {
	content, err := Expand(template, variables, quote)
	if err != nil {
		return fmt.Errorf("%s: %w", path.Base(name), err)
	}
	return inFolder(home, name, func(root *os.Root) error { return replace(root, name, content) })
}

// Link makes the link name in a home, as Write makes a file. One that is there stays.
func Link(home, name, target string) error {
	return inFolder(home, name, func(root *os.Root) error {
		err := root.Symlink(target, name)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return owner.Inherit(root, name)
	})
}

// inFolder runs do when the folder of name exists.
func inFolder(home, name string, do func(*os.Root) error) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := owner.MkdirAll(root, path.Dir(name), 0o700); err != nil {
		return err
	}
	return do(root)
}

func replace(root *os.Root, name, content string) error {
	temporary := path.Join(path.Dir(name), "."+path.Base(name)+"-"+rand.Text())
	file, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openflag.NoFollow, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	err = errors.Join(err, give(root, file), file.Sync(), file.Close())
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return nil
}

// give gives a file the owner of root.
func give(root *os.Root, file *os.File) error {
	if !owner.CanGive() {
		return nil
	}
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	to := owner.Of(info)
	return file.Chown(to.UID, to.GID)
}
