// Package failpoint owns named places in the code where a process can be killed, so that tests
// can kill the real binary at an exact point.
//
// BELLHOP_FAILPOINT lists names separated by commas; "name:3" means the third hit. A listed
// point sends SIGKILL to its own process: no deferred call, flush or response follows.
//
// The points are calls in the code they interrupt, such as Hit("after-journal-append"). They exist
// only in binaries that are built with the tag failpoints (go build -tags failpoints). In others
// Hit is empty and the variable is not read: nothing in the environment can kill a release.
//
// A mutant is such a binary in which one promise is broken on purpose, to prove that `bellhop torture`
// notices: BELLHOP_MUTANT names it, and if Mutated(name) { ... } is the place that breaks it.
package failpoint

// Env names the variable that arms points for the lifetime of a process.
const Env = "BELLHOP_FAILPOINT"

// MutantEnv names the variable that breaks one promise for the lifetime of a process.
const MutantEnv = "BELLHOP_MUTANT"

// Tag is the build tag of binaries that have fail points.
const Tag = "failpoints"
