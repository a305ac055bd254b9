// Package failpoint owns named places in the code where a process can be killed, so that tests
// can kill the real binary at an exact point.
//
// BELLHOP_FAILPOINT lists names separated by commas; "name:3" means the third hit. A listed
// point sends SIGKILL to its own process: no deferred call, flush or response follows. Without
// the variable a hit costs one atomic load.
//
// The points are calls in the code they interrupt, such as Hit("after-journal-append").
package failpoint
