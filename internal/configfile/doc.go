// Package configfile writes the configuration files of agents from templates with ${VARIABLE}s.
// It owns the substitution, the escaping of values and the safe writing of files with secrets.
// The callers own the templates and the values.
package configfile
