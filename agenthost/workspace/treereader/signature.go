package treereader

import (
	"crypto/sha256"
	"hash"
)

// Signature says which state of a file was read. Programs can set Size and Modified. Changed is set by the kernel with
// each change of content, owner, mode, name or times.
type Signature struct {
	Size, Modified, Changed int64 // bytes, and nanoseconds since 1970
	Inode, Device           uint64
}

// unsettled returns a signature that equals that of no file. The size remains, for the reading of large files.
func unsettled(size int64) Signature { return Signature{Size: size} }

// Sum is the SHA-256 of a file's content, as it is in the tree; zero = unknown. Unlike the SHA-1 of git's objects it
// cannot be the same for two files that a program has prepared.
type Sum [sha256.Size]byte

// SumOf returns the sum of some content.
func SumOf(content []byte) Sum { return sha256.Sum256(content) }

// NewSum returns a hash whose sum is a Sum.
func NewSum() hash.Hash { return sha256.New() }
