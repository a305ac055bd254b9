// Package openflag names the flags with which files that others can replace are opened.
package openflag
