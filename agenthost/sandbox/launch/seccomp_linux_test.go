package launch

import (
	"encoding/binary"
	"runtime"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// answer returns the error with which the filter answers a call, 0 if the call passes.
func answer(t *testing.T, spec Spec, number uint32, arguments ...uint64) unix.Errno {
	t.Helper()
	machine, err := bpf.NewVM(filterProgram(spec))
	if err != nil {
		t.Fatal(err)
	}
	call := make([]byte, offsetArguments+6*8) // the machine reads words in the order of networks
	binary.BigEndian.PutUint32(call[offsetNumber:], number)
	binary.BigEndian.PutUint32(call[offsetArchitecture:], auditArchitecture[runtime.GOARCH])
	for i, argument := range arguments { // the kernel stores the low half first
		binary.BigEndian.PutUint32(call[offsetArguments+8*i:], uint32(argument))
		binary.BigEndian.PutUint32(call[offsetArguments+8*i+4:], uint32(argument>>32))
	}
	result, err := machine.Run(call)
	switch {
	case err != nil:
		t.Fatal(err)
	case result == unix.SECCOMP_RET_ALLOW:
		return 0
	}
	return unix.Errno(result &^ unix.SECCOMP_RET_ERRNO)
}

func TestTheFilterRefusesOtherProcesses(t *testing.T) {
	t.Parallel()
	const self, other, all = 0, 4711, 1<<32 - 1
	for name, c := range map[string]struct {
		call              uint32
		arguments         []uint64
		alone, namespaces unix.Errno
	}{
		"own limits":              {unix.SYS_PRLIMIT64, []uint64{self, unix.RLIMIT_NOFILE}, 0, 0},
		"limits":                  {unix.SYS_PRLIMIT64, []uint64{other, unix.RLIMIT_NOFILE}, unix.EPERM, 0},
		"a garbled own id":        {unix.SYS_PRLIMIT64, []uint64{1 << 32}, 0, 0},
		"a garbled id":            {unix.SYS_PRLIMIT64, []uint64{1<<32 | other}, unix.EPERM, 0},
		"own priority":            {unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, self}, 0, 0},
		"own group's priority":    {unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PGRP, self}, 0, 0},
		"priority":                {unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, other}, unix.EPERM, 0},
		"a group's priority":      {unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PGRP, other}, unix.EPERM, 0},
		"the user's priority":     {unix.SYS_SETPRIORITY, []uint64{unix.PRIO_USER, self}, unix.EPERM, unix.EPERM},
		"another user's priority": {unix.SYS_SETPRIORITY, []uint64{unix.PRIO_USER, other}, unix.EPERM, unix.EPERM},
		"own order of access":     {unix.SYS_IOPRIO_SET, []uint64{1, self}, 0, 0},
		"order of access":         {unix.SYS_IOPRIO_SET, []uint64{1, other}, unix.EPERM, 0},
		"the user's order":        {unix.SYS_IOPRIO_SET, []uint64{ioprioWhoUser, self}, unix.EPERM, unix.EPERM},
		"own processors":          {unix.SYS_SCHED_SETAFFINITY, []uint64{self}, 0, 0},
		"processors":              {unix.SYS_SCHED_SETAFFINITY, []uint64{other}, unix.EPERM, 0},
		"attributes":              {unix.SYS_SCHED_SETATTR, []uint64{other}, unix.EPERM, 0},
		"parameters":              {unix.SYS_SCHED_SETPARAM, []uint64{other}, unix.EPERM, 0},
		"scheduler":               {unix.SYS_SCHED_SETSCHEDULER, []uint64{other}, unix.EPERM, 0},
		"scheduler of no process": {unix.SYS_SCHED_SETSCHEDULER, []uint64{all}, unix.EPERM, 0},
		"reading the scheduler":   {unix.SYS_SCHED_GETSCHEDULER, []uint64{other}, 0, 0},
		"own memory's place":      {unix.SYS_MOVE_PAGES, []uint64{self}, 0, 0},
		"memory's place":          {unix.SYS_MOVE_PAGES, []uint64{other}, unix.EPERM, unix.EPERM},
		"memory's node":           {unix.SYS_MIGRATE_PAGES, []uint64{other}, unix.EPERM, unix.EPERM},
		"comparison":              {unix.SYS_KCMP, []uint64{other, other}, unix.EPERM, unix.EPERM},
		"memory's use":            {unix.SYS_PROCESS_MADVISE, []uint64{3}, unix.EPERM, unix.EPERM},
		"a descriptor":            {unix.SYS_PIDFD_OPEN, []uint64{other}, unix.ENOSYS, 0},
		"the next call":           {unix.SYS_GETPID, nil, 0, 0},
	} {
		if got := answer(t, Spec{}, c.call, c.arguments...); got != c.alone {
			t.Errorf("%s, without namespaces: %v, want %v", name, got, c.alone)
		}
		if got := answer(t, Spec{Namespaces: true}, c.call, c.arguments...); got != c.namespaces {
			t.Errorf("%s, with namespaces: %v, want %v", name, got, c.namespaces)
		}
	}
}
