//go:build linux

package torture

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// noClocks says why this machine cannot step the clock of one process, "" if it can.
func noClocks() string {
	if runtime.GOARCH != "amd64" {
		return "only known for amd64"
	}
	return ""
}

// stepClock makes the wall clock of one process differ from the machine's. A static Go program reads it
// through the vDSO, the kernel's code in each process, so that is changed in this process alone: into a
// system call and an addition. Its monotonic clock stays.
func stepClock(pid int, offset time.Duration) error {
	at, err := clockCode(pid)
	if err != nil {
		return err
	}
	code := clockStub(offset)
	for range 1000 {
		if err := errors.Join(syscall.Kill(pid, syscall.SIGSTOP), inState(pid, "T")); err != nil {
			return err
		}
		busy, err := executes(pid, at, at+uint64(len(code)))
		if err == nil && !busy {
			err = writeMemory(pid, at, code)
		}
		if err = errors.Join(err, syscall.Kill(pid, syscall.SIGCONT)); err != nil || !busy {
			return err
		}
	}
	return fmt.Errorf("process %d reads its clock all the time", pid)
}

// clockStub is clock_gettime(edi, rsi) as a system call, with the offset added to CLOCK_REALTIME.
func clockStub(offset time.Duration) []byte {
	code := []byte{
		0xb8, 0xe4, 0, 0, 0, // mov eax, SYS_clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi
		0x75, 0x0d, // jnz to ret
		0x48, 0xb9, // mov rcx, seconds
	}
	code = binary.LittleEndian.AppendUint64(code, uint64(int64(offset/time.Second))) //nolint:gosec // as its bits
	return append(code, 0x48, 0x01, 0x0e, 0xc3)                                      // add [rsi], rcx; ret
}

// clockCode returns where the process has __vdso_clock_gettime.
func clockCode(pid int) (uint64, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if !strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			continue
		}
		var from, to uint64
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
			return 0, err
		}
		content := make([]byte, to-from)
		memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		if err != nil {
			return 0, err
		}
		_, err = memory.ReadAt(content, int64(from)) //nolint:gosec // an address of a user
		if err = errors.Join(err, memory.Close()); err != nil {
			return 0, err
		}
		return clockSymbol(content, from)
	}
	return 0, fmt.Errorf("process %d has no vDSO", pid)
}

func clockSymbol(vdso []byte, from uint64) (uint64, error) {
	file, err := elf.NewFile(bytes.NewReader(vdso))
	if err != nil {
		return 0, err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" && s.Size >= uint64(len(clockStub(0))) {
			return from + s.Value, nil
		}
	}
	return 0, errors.New("the vDSO has no clock_gettime that can be changed")
}

// executes reports whether a thread of the process, which is stopped, is within [from, to).
func executes(pid int, from, to uint64) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	if err != nil {
		return false, err
	}
	for _, name := range threads {
		content, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended
		}
		words := strings.Fields(string(content))
		if err != nil || len(words) < 2 { // "running": it has not stopped yet
			return true, err
		}
		pc, err := strconv.ParseUint(words[len(words)-1], 0, 64)
		if err != nil || pc >= from && pc < to {
			return true, err
		}
	}
	return false, nil
}

func writeMemory(pid int, at uint64, content []byte) error {
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = memory.WriteAt(content, int64(at)) //nolint:gosec // an address of a user
	return errors.Join(err, memory.Close())
}
