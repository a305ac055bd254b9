package objectpack

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// File is an entry of git's index: a file, a link, or a commit of another repository.
type File struct {
	Path string
	Mode uint32
	ID   string // in hexadecimal
}

const treeMode = 0o040000

// Tree adds the trees of some files, which are in the order of their paths, and returns the id of the outermost one.
// Trees for which has is true are not written: the repository has them.
func (w *Writer) Tree(files []File, has func(id string) bool) (id string, err error) {
	for i := 1; i < len(files); i++ {
		if files[i-1].Path >= files[i].Path {
			return "", fmt.Errorf("%q does not come before %q", files[i-1].Path, files[i].Path)
		}
	}
	return w.tree(files, 0, has)
}

// tree adds the tree of a directory, whose path has a length. In the order of the paths its entries are in the order of
// git's trees, where the name of a directory counts with a slash at its end.
func (w *Writer) tree(files []File, prefix int, has func(id string) bool) (id string, err error) {
	var data []byte
	for len(files) > 0 {
		path := files[0].Path
		name, _, isDirectory := strings.Cut(path[prefix:], "/")
		if name == "" {
			return "", fmt.Errorf("%q is no path", path)
		}
		count, mode, id := 1, files[0].Mode, files[0].ID
		if end := prefix + len(name); isDirectory {
			inside := path[:end+1]
			count = sort.Search(len(files), func(i int) bool { return !strings.HasPrefix(files[i].Path, inside) })
			if id, err = w.tree(files[:count], end+1, has); err != nil {
				return "", err
			}
			mode = treeMode
		} else if next := sort.Search(len(files), func(i int) bool { return files[i].Path >= path+"/" }); next < len(files) &&
			strings.HasPrefix(files[next].Path, path+"/") {
			return "", fmt.Errorf("%q is a file and a directory", path)
		}
		raw, err := hex.DecodeString(id)
		if err != nil {
			return "", fmt.Errorf("the id of %q: %w", path, err)
		}
		data = append(data, strconv.FormatUint(uint64(mode), 8)+" "+name+"\x00"...)
		data = append(data, raw...)
		files = files[count:]
	}
	if id, err = w.name(treeKind, bytes.NewReader(data), int64(len(data))); err != nil || has(id) {
		return id, err
	}
	return w.add(treeKind, bytes.NewReader(data), int64(len(data)))
}
