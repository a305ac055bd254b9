package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"bellhop/internal/pgserver"
)

// tick is the unit of CPU times in /proc, which Linux fixes for user space.
const tick = 10 * time.Millisecond

// cpu returns the CPU time of a process and of its children that were waited for.
func cpu(s procfs.ProcStat) time.Duration {
	return time.Duration(int(s.UTime+s.STime)+s.CUTime+s.CSTime) * tick
}

// cpuOf returns the CPU time of a process and its living children, because
// PostgreSQL has a process per connection. This process's children are measured by
// themselves.
func cpuOf(pid int) time.Duration {
	own := must(must(procfs.NewProc(pid)).Stat())
	if pid == os.Getpid() {
		return time.Duration(own.UTime+own.STime) * tick
	}
	sum := cpu(own)
	for _, p := range must(procfs.AllProcs()) {
		if s, err := p.Stat(); err == nil && s.PPID == pid { // otherwise it has ended, or has another parent
			sum += cpu(s)
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

// fsyncCost returns the median time of one small durable write in dir.
func fsyncCost(dir string) time.Duration {
	f := must(os.CreateTemp(dir, "fsync-"))
	defer func() { _ = os.Remove(f.Name()) }()
	defer f.Close()
	var times []time.Duration
	for range 100 {
		start := time.Now()
		must(f.WriteAt(make([]byte, 8<<10), 0))
		check(f.Sync())
		times = append(times, time.Since(start))
	}
	return median(times)
}

// circumstances describes the machine, on which all figures depend.
func circumstances(ctx context.Context) string {
	proc := must(procfs.NewDefaultFS())
	processor, memory := must(proc.CPUInfo())[0], must(proc.Meminfo())
	model := processor.ModelName
	if model == "" || model == "unknown" {
		model = fmt.Sprintf("%s family %s model %s", processor.VendorID, processor.CPUFamily, processor.Model)
	}
	postgres := pgserver.Version(ctx)
	if postgres == "" {
		postgres = "no PostgreSQL"
	}
	return fmt.Sprintf("%s · commit %s · %d cores, %s, %d GiB · %s · %s · Linux %s",
		time.Now().UTC().Format(time.DateOnly), commit(ctx), runtime.NumCPU(), model, (*memory.MemTotalBytes+1<<29)>>30,
		runtime.Version(), postgres, printedBy(ctx, "uname", "-r"))
}

func commit(ctx context.Context) string {
	hash := printedBy(ctx, "git", "rev-parse", "--short", "HEAD")
	if printedBy(ctx, "git", "status", "--porcelain", "--untracked-files=no", "--", "*.go", "go.mod", "*.sql") != "" {
		hash += " with changes"
	}
	return hash
}

func printedBy(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
