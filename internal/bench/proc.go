package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc, which Linux fixes for user space.
const tick = 10 * time.Millisecond

// stat holds the fields of /proc/PID/stat after the command: state, ppid, …
type stat []string

func statOf(pid int) (stat, error) {
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

func (s stat) number(i int) int64 { return must(strconv.ParseInt(s[i], 10, 64)) }

// cpu returns the CPU time of a process and of its children that were waited for.
func (s stat) cpu() time.Duration {
	return time.Duration(s.number(11)+s.number(12)+s.number(13)+s.number(14)) * tick // utime stime cutime cstime
}

// cpuOf returns the CPU time of a process and its living children, because
// PostgreSQL has a process per connection.
func cpuOf(pid int) time.Duration {
	sum := must(statOf(pid)).cpu()
	for _, path := range must(filepath.Glob("/proc/[0-9]*/stat")) {
		other, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if s, err := statOf(other); err == nil && s[1] == strconv.Itoa(pid) { // otherwise it has ended, or has another parent
			sum += s.cpu()
		}
	}
	return sum
}

// meter adds up the CPU time of processes.
type meter struct {
	pids []int
	sums []time.Duration
}

func newMeter(pids ...int) *meter { return &meter{pids: pids, sums: make([]time.Duration, len(pids))} }

// during adds the CPU time that the processes use while f runs.
func (m *meter) during(f func()) {
	before := each(m.pids, cpuOf)
	f()
	for i, after := range each(m.pids, cpuOf) {
		m.sums[i] += after - before[i]
	}
}

// residentOf returns the resident memory of a process in bytes.
func residentOf(pid int) (int64, error) {
	s, err := statOf(pid)
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(s[21], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// fsyncCost returns the median time of one small durable write in dir.
func fsyncCost(dir string) time.Duration {
	f := must(os.CreateTemp(dir, "fsync-"))
	defer func() { _ = os.Remove(f.Name()) }()
	defer f.Close()
	block := make([]byte, 8<<10)
	var times []time.Duration
	for range 100 {
		start := time.Now()
		must(f.WriteAt(block, 0))
		check(f.Sync())
		times = append(times, time.Since(start))
	}
	return median(times)
}
