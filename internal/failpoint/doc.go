// Package failpoint owns the named places where a process can be told to die,
// so that a test can ask "what if it is killed exactly here?" of the real
// binary.
//
// BELLHOP_FAILPOINT lists names separated by commas; "name:3" means the third
// hit. A listed point sends SIGKILL to its own process: no deferred call, no
// flush, no answer. Without the variable a hit costs one atomic load.
//
// It decides nothing about where points are: Hit("after-journal-append") stands
// in the code it interrupts.
package failpoint
