package app

import (
	"cmp"
	"os"
	"path/filepath"
)

// place describes where a host runs, for people who look for a second copy of it.
func place(data string) string {
	machine, _ := os.Hostname() // without a name, the directory has to do
	if dir, err := filepath.Abs(data); err == nil {
		data = dir
	}
	return cmp.Or(machine, "?") + ":" + data
}
