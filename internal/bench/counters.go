package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc, which Linux fixes for user space.
const tick = 10 * time.Millisecond

// cpuOf is the CPU time a process and the children it has waited for have used.
func cpuOf(pid int) (time.Duration, error) {
	fields, err := statOf(pid)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, f := range fields[11:15] { // utime stime cutime cstime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

// statOf is /proc/PID/stat after the command: state, ppid, …
func statOf(pid int) ([]string, error) {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil, err
	}
	_, rest, found := bytes.Cut(raw, []byte(") "))
	fields := strings.Fields(string(rest))
	if !found || len(fields) < 22 {
		return nil, fmt.Errorf("/proc/%d/stat cannot be read", pid)
	}
	return fields, nil
}

// cpuOfTree is that of a process and its living children: PostgreSQL is a
// process per connection.
func cpuOfTree(pid int) (time.Duration, error) {
	sum, err := cpuOf(pid)
	if err != nil {
		return 0, err
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, path := range stats {
		other, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		fields, err := statOf(other)
		if err != nil || fields[1] != strconv.Itoa(pid) {
			continue // gone, or another's
		}
		used, err := cpuOf(other)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// residentOf is the memory of a process that is in RAM, in bytes.
func residentOf(pid int) (int64, error) {
	fields, err := statOf(pid)
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(fields[21], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// fsyncCost is the median time of one small durable write in dir.
func fsyncCost(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, "fsync-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, 8<<10)
	var times []time.Duration
	for range 100 {
		start := time.Now()
		if _, err := f.WriteAt(block, 0); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(start))
	}
	return median(times), nil
}
