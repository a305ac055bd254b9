package launch

import (
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	kernel "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Rights of Landlock. Device files cannot be made anywhere.
const (
	allRights      = landlock.AccessFSSet(1<<17 - 1)
	readRights     = landlock.AccessFSSet(kernel.AccessFSExecute | kernel.AccessFSReadFile | kernel.AccessFSReadDir)
	readFileRights = landlock.AccessFSSet(kernel.AccessFSExecute | kernel.AccessFSReadFile)
	deviceRights   = landlock.AccessFSSet(kernel.AccessFSReadFile | kernel.AccessFSReadDir | kernel.AccessFSWriteFile |
		kernel.AccessFSTruncate | kernel.AccessFSIoctlDev)
	deviceFileRights = deviceRights &^ landlock.AccessFSSet(kernel.AccessFSReadDir)
	writeRights      = allRights &^ landlock.AccessFSSet(kernel.AccessFSMakeChar|kernel.AccessFSMakeBlock|
		kernel.AccessFSIoctlDev)
	writeFileRights = landlock.AccessFSSet(kernel.AccessFSExecute | kernel.AccessFSReadFile | kernel.AccessFSWriteFile |
		kernel.AccessFSTruncate | kernel.AccessFSResolveUnix)
	allScopes = landlock.ScopedSet(1<<2 - 1) // signals and abstract sockets
)

// LandlockVersion returns the version of the kernel's interface, 0 without Landlock.
func LandlockVersion() int {
	version, err := kernel.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return version
}

// restrictFiles lets the process use only the files of the spec and of the system,
// and send signals and connect to abstract sockets only within the sandbox. Rights that
// the kernel's version of Landlock lacks are left out; the probe reports the gap.
func restrictFiles(spec Spec) error {
	var rules []landlock.Rule
	add := func(paths []string, directory, file landlock.AccessFSSet) {
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				continue
			}
			rights := file
			if info.IsDir() {
				rights = directory
			}
			rules = append(rules, landlock.PathAccess(rights, path).IgnoreIfMissing())
		}
	}
	add(systemFiles(), readRights, readFileRights)
	add([]string{"/proc"}, readRights, readFileRights)
	add(devices, deviceRights, deviceFileRights)
	add([]string{"/dev"}, landlock.AccessFSSet(kernel.AccessFSReadDir), 0)
	if spec.Namespaces { // the view's root lists only what the spec allows
		add([]string{"/"}, landlock.AccessFSSet(kernel.AccessFSReadDir), 0)
	}
	add(groupPaths(spec), readRights, readFileRights)
	add(spec.Read, readRights, readFileRights)
	write := writeRights
	if LandlockVersion() < 2 {
		// Version 1 cannot grant moves between directories; with this right, BestEffort
		// would restrict nothing.
		write &^= landlock.AccessFSSet(kernel.AccessFSRefer)
	}
	add(spec.Write, write, writeFileRights)
	config, err := landlock.NewConfig(allRights, allScopes)
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if err := config.BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}
