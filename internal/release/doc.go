// Package release makes what a version of Bellhop is published as: binaries, archives, deb and rpm packages, an
// image, npm packages, a Homebrew formula, bills of materials, checksums and their signature.
//
// The same commit gives the same bytes in any directory and at any time. Every time in a file is the commit's, every
// archive lists its files in one order, with one owner, and the signature is deterministic.
package release
