// Package doccheck owns the test that keeps the documentation readable and
// connected: lines are short, relative links and anchors resolve, every section or
// requirement that a comment cites exists, every route is documented, and every fault
// and promise names tests that exist. It has no code of its own.
package doccheck
