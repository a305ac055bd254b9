// Package yamlfile reads the YAML files that people write for Bellhop: policies and the host's
// configuration. It owns what makes such a file safe to read: one document in UTF-8, no key twice,
// bounds for size, depth and aliases. Every error has its line. The callers own the keys and what
// they mean.
//
// The library's parser makes the tree; its decoder is not used, because it reads numbers for texts:
// the version 1.10 would become 1.1.
package yamlfile
