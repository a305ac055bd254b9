// Package configfile writes the configuration files of agents from templates
// with ${VARIABLE}s. It owns the substitution, the escaping of values and how
// a file with secrets comes onto the disk. What a template says and where the
// values come from is its callers' business.
package configfile
