// Package sandbox confines the programs that agents run: the agents themselves,
// their terminal clients and the commands of a project.
//
// It owns the launcher that a program is started through, the rules that the
// launcher asks of the kernel, and the proof at a host's start of what the kernel
// keeps. It does not own which directories a session uses, nor how programs are
// started and stopped.
//
//	host ─► sandbox-exec SPEC -- program …       waits; the host signals its group
//	          └─► sandbox-init …                 process 1 of namespaces: mounts, processes, IPC
//	                │ a view of the file system with what the spec names, /proc and /dev of its own
//	                │ limits, no capabilities, no_new_privs
//	                │ Landlock: files, signals, abstract sockets
//	                └ seccomp: system calls that no agent needs
//	                     └─► program             process 1 collects its orphans and ends with it
//
// Where the system has no namespaces, sandbox-exec confines itself and becomes the
// program. The launcher runs while the package is initialized, before main: the rest of the
// binary would take most of the time of a start.
package sandbox
