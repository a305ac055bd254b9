// Package yamlfile reads the YAML files that people write for Bellhop: policies and the host's configuration. The library
// reads the syntax. This package owns what makes such a file safe to read: one document in UTF-8, no key that is unknown
// or there twice, bounds for size, depth and aliases, and texts that stay as they are written, so that the version 1.10
// is not 1.1. Every error has its line. The callers own the keys and what they mean.
package yamlfile
