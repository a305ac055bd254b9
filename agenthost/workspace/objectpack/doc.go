// Package objectpack writes objects of git as one pack: the contents of files, the trees that hold them, and a commit.
//
// It owns the format of a pack of whole objects, and how files become trees. It does not own the index of a pack, which
// git makes ("git index-pack"), nor the conversions of content that attributes ask for.
package objectpack
