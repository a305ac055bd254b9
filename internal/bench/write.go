package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Between these lines a document's tables are replaced.
const (
	beginMarker = "<!-- figures: written by make bench -->"
	endMarker   = "<!-- end of figures -->"
)

var errNoMarkers = errors.New("the file has no markers for the figures")

// writeTables replaces the tables of the figures that were taken. Those of the
// others stay as they are; those of no figure go.
func writeTables(ctx context.Context, path string, tables []table) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found1 := bytes.Cut(content, []byte(beginMarker))
	old, after, found2 := bytes.Cut(rest, []byte(endMarker))
	if !found1 || !found2 {
		return fmt.Errorf("%s: %w", path, errNoMarkers)
	}
	sections := sectionsOf(string(old))
	taken := circumstances(ctx)
	for _, t := range tables {
		sections[titles[t.name]] = taken + "\n\n" + strings.TrimSpace(t.rowsMarkdown())
	}
	var b bytes.Buffer
	b.Write(before)
	b.WriteString(beginMarker + "\n")
	for _, f := range slices.Concat(figures, onRequest) {
		if section, ok := sections[titles[f.name]]; ok {
			b.WriteString("\n### " + titles[f.name] + "\n\n" + section + "\n")
		}
	}
	b.WriteString("\n" + endMarker)
	b.Write(after)
	return os.WriteFile(path, b.Bytes(), 0o644) //nolint:gosec // a document
}

// sectionsOf are the texts under the titles of a document's figures.
func sectionsOf(text string) map[string]string {
	sections := map[string]string{}
	for i, section := range strings.Split("\n"+text, "\n### ") {
		if title, body, ok := strings.Cut(section, "\n"); ok && i > 0 {
			sections[title] = strings.TrimSpace(body)
		}
	}
	return sections
}

// circumstances are what figures depend on.
func circumstances(ctx context.Context) string {
	return fmt.Sprintf("%s · commit %s · %d cores, %s, %s · %s · %s · Linux %s",
		time.Now().UTC().Format(time.DateOnly), commit(ctx), runtime.NumCPU(), processor(), memory(),
		runtime.Version(), postgresVersion(ctx), firstLine("/proc/sys/kernel/osrelease"))
}

func commit(ctx context.Context) string {
	hash := said(ctx, "git", "rev-parse", "--short", "HEAD")
	if said(ctx, "git", "status", "--porcelain", "--untracked-files=no", "--", "*.go", "go.mod", "*.sql") != "" {
		hash += " with changes"
	}
	return hash
}

func postgresVersion(ctx context.Context) string {
	bin, err := postgresPrograms()
	if err != nil {
		return "no PostgreSQL"
	}
	version := said(ctx, filepath.Join(bin, "postgres"), "--version")
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "postgres (PostgreSQL) "), " ")
	return "PostgreSQL " + version
}

func said(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func processor() string {
	model := field("/proc/cpuinfo", "model name")
	if model == "" || model == "unknown" {
		return fmt.Sprintf("%s family %s model %s", field("/proc/cpuinfo", "vendor_id"), field("/proc/cpuinfo", "cpu family"), field("/proc/cpuinfo", "model"))
	}
	return model
}

func memory() string {
	var n int
	if _, err := fmt.Sscanf(field("/proc/meminfo", "MemTotal"), "%d kB", &n); err != nil {
		return "memory unknown"
	}
	return fmt.Sprintf("%d GiB", (n+1<<19)>>20)
}

// field is the value of "name : value" in a file of /proc.
func field(path, name string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(content)) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func firstLine(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(content), "\n")
	return line
}
