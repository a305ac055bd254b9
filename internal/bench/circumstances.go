package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"bellhop/internal/pgserver"
)

// circumstances describes the machine, on which all figures depend.
func circumstances(ctx context.Context) string {
	return fmt.Sprintf("%s · commit %s · %d cores, %s, %s · %s · %s · Linux %s",
		time.Now().UTC().Format(time.DateOnly), commit(ctx), runtime.NumCPU(), processor(), memory(),
		runtime.Version(), cmp.Or(pgserver.Version(ctx), "no PostgreSQL"), printedBy(ctx, "uname", "-r"))
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

func processor() string {
	if model := field("/proc/cpuinfo", "model name"); model != "" && model != "unknown" {
		return model
	}
	return fmt.Sprintf("%s family %s model %s",
		field("/proc/cpuinfo", "vendor_id"), field("/proc/cpuinfo", "cpu family"), field("/proc/cpuinfo", "model"))
}

func memory() string {
	var n int
	if _, err := fmt.Sscanf(field("/proc/meminfo", "MemTotal"), "%d kB", &n); err != nil {
		return "memory unknown"
	}
	return fmt.Sprintf("%d GiB", (n+1<<19)>>20)
}

// field returns the value of "name : value" in a file of /proc; "" if there is none.
func field(path, name string) string {
	content, _ := os.ReadFile(path)
	for line := range strings.Lines(string(content)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
