package private

import "io/fs"

// Exposure says who else than its owner can open a file.
type Exposure struct {
	Mode  fs.FileMode // of a file that its mode opens to others; 0 if it does not
	Guard string      // what keeps others out all the same: "its folder /a", "its mount"; "" if nothing does
}

// IsOpen reports whether others can open the file.
func (e Exposure) IsOpen() bool { return e.Mode != 0 && e.Guard == "" }
