// Package openflag opens files that others can replace, and names the flags for that.
package openflag
