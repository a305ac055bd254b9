package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// ID is a user id with its group.
type ID struct {
	UID int `json:"uid"`
	GID int `json:"gid"`
}

// Self returns the id of this process.
func Self() ID { return ID{os.Geteuid(), os.Getegid()} }

// Of returns the owner of a file. On Windows it is this process's for all files.
func Of(info fs.FileInfo) ID {
	id, known := ownerOf(info)
	if !known {
		return Self()
	}
	return id
}

// OfPath returns the owner of the entry at a path; of a symbolic link its own.
func OfPath(path string) (ID, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return ID{}, err
	}
	return Of(info), nil
}

// CanGive reports whether this process can change owners.
func CanGive() bool { return os.Geteuid() == 0 }

// Inherit gives an entry below a directory the owner of that directory. Links are not followed.
func Inherit(root *os.Root, name string) error {
	if !CanGive() {
		return nil
	}
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	id := Of(info)
	if entry, err := root.Lstat(name); err == nil && Of(entry) == id {
		return nil
	}
	return root.Lchown(name, id.UID, id.GID)
}

// MkdirAll is that of root, with the owner of root for each new directory.
func MkdirAll(root *os.Root, name string, mode fs.FileMode) error {
	if info, err := root.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	if parent := path.Dir(name); parent != "." && parent != name {
		if err := MkdirAll(root, parent, mode); err != nil {
			return err
		}
	}
	if err := root.Mkdir(name, mode); err != nil {
		if info, statErr := root.Stat(name); statErr == nil && info.IsDir() {
			return nil // made by the agent meanwhile
		}
		return err
	}
	return Inherit(root, name)
}

// Give gives a directory and all below it to an owner, the directory itself last: a directory that
// has the owner is done. It follows no links. A file with a name outside the tree keeps its owner,
// because a program may have made the link to a file that it must not have.
func Give(dir string, to ID) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("give files to user %d: %w", to.UID, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("give files to user %d: %s is not a directory", to.UID, dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("give files to user %d: %w", to.UID, err)
	}
	defer root.Close()
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		return fmt.Errorf("give files to user %d: %s was replaced", to.UID, dir)
	}
	g := giver{root: root, to: to, linked: map[inode]uint64{}}
	err = fs.WalkDir(root.FS(), ".", g.visit)
	if err == nil {
		err = root.Lchown(".", to.UID, to.GID)
	}
	if err != nil {
		return fmt.Errorf("give files to user %d: %w", to.UID, err)
	}
	return nil
}

type inode struct{ device, number uint64 }

type giver struct {
	root   *os.Root
	to     ID
	linked map[inode]uint64 // names that were found, of files with several
}

func (g *giver) visit(name string, entry fs.DirEntry, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // a program has removed it
	case err != nil:
		return err
	case name == ".":
		return nil
	}
	info, err := g.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if Of(info) == g.to || !entry.IsDir() && !g.isInside(info) {
		return nil
	}
	if err := g.root.Lchown(name, g.to.UID, g.to.GID); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// isInside reports whether all names of a file were found in the tree.
func (g *giver) isInside(info fs.FileInfo) bool {
	at, names := namesOf(info)
	if names <= 1 {
		return true
	}
	g.linked[at]++
	return g.linked[at] >= names
}
