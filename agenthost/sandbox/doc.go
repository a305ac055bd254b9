// Package sandbox confines the programs that agents run: the agents themselves,
// their terminal clients and the commands of a project.
//
// It owns what a program may use, and, in the package launch, the launcher that starts each program with the
// kernel's rules for that. It owns the measurement at a host's start of which escapes these rules block. It does not own
// which directories a session uses, nor how programs are started and stopped.
//
//	host ─► sandbox-exec SPEC -- program …       waits, forwards bridges; the host signals its group
//	          └─► sandbox-init                   process 1 of namespaces: mounts, processes, IPC, network
//	                │ the spec through a pipe: programs see the arguments of process 1
//	                │ a view of the file system with what the spec names, /proc and /dev of its own
//	                │ limits, no capabilities, no_new_privs
//	                │ Landlock: files, signals, abstract sockets
//	                └ seccomp: system calls that no agent needs
//	                     └─► program             process 1 reaps its orphans and ends with it
//
// Where the system has no namespaces, sandbox-exec confines itself and becomes the
// program.
package sandbox
