// Package doccheck owns the test that keeps the documentation readable and
// connected: lines are short, relative links and anchors resolve, every section or
// requirement that a comment cites exists, and every route is documented. It has
// no code of its own.
package doccheck
