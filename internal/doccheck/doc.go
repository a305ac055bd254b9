// Package doccheck owns the tests that keep the documentation usable: relative links
// and anchors resolve, and each block of commands is correct and run by a test, or
// listed with the reason why it is not. It has no code of its own.
package doccheck
