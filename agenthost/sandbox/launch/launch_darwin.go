package launch

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// seatbeltProgram applies a profile and becomes the program.
const seatbeltProgram = "/usr/bin/sandbox-exec"

// launch becomes macOS's own sandbox-exec with the profile of the spec. It returns only errors.
func launch(args []string) error {
	spec, program, err := parseCommandLine(args)
	if err != nil {
		return err
	}
	for _, paths := range []*[]string{&spec.Read, &spec.Write} {
		for _, path := range *paths { // rules hold for the path that the kernel sees
			if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
				*paths = append(*paths, real)
			}
		}
	}
	command := append([]string{seatbeltProgram, "-p", seatbelt(spec)}, program...)
	if err := unix.Exec(command[0], command, os.Environ()); err != nil {
		return fmt.Errorf("the sandbox cannot be set up: %w", err)
	}
	return nil
}
