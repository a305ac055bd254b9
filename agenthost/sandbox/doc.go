// Package sandbox confines the programs that agents run: the agents themselves,
// their terminal clients and the commands of a project.
//
// It owns the launcher that a program is started through, the rules that the
// launcher asks of the kernel, and the proof at a host's start of what the kernel
// keeps. It does not own which directories a session uses, nor how programs are
// started and stopped.
//
//	host ─► bellhop sandbox-exec SPEC -- program …
//	          │ limits, no capabilities, no_new_privs
//	          │ Landlock: files, signals, abstract sockets
//	          └ seccomp: system calls that no agent needs
//	               └─► execve(program)
//
// The launcher runs while the package is initialized, before main: the rest of the
// binary would take most of the time of a start.
package sandbox
