//go:build failpoints

package failpoint

import (
	"os"
	"sync/atomic"
)

var (
	mutant = os.Getenv(MutantEnv)
	asked  atomic.Int64
)

// Mutated reports whether this process breaks the promise name.
func Mutated(name string) bool { return name == mutant }

// MutatedOnce reports that for every nth call.
func MutatedOnce(name string, n int64) bool { return name == mutant && asked.Add(1)%n == 0 }
