package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellhop/agenthost/sandbox/launch"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// Limits are those of all programs of a session together, which control groups set.
type Limits struct {
	Mode      LimitMode // "" = LimitAuto
	Memory    int64     // bytes; 0 = four fifths of what the machine or the host's own group has
	Processes int       // with threads; 0 = 4096
	CPUWeight int       // 1 to 10000, against 100 of the host; 0 = 50
}

// LimitMode says what a host does if it has no control groups with limits.
type LimitMode string

// Modes.
const (
	LimitAuto     LimitMode = "auto"     // run programs with the limits that the system has
	LimitRequired LimitMode = "required" // do not start
	LimitOff      LimitMode = "off"      // use no control groups
)

// LimitModes are all modes.
var LimitModes = []LimitMode{LimitAuto, LimitRequired, LimitOff}

// Check returns CodeInvalid for limits that cannot be.
func (l Limits) Check() error {
	var wrong string
	switch {
	case l.Mode != "" && !slices.Contains(LimitModes, l.Mode):
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("sandbox: unknown mode %q of limits", l.Mode),
			Hint: "Modes are auto, required and off.",
		}
	case l.Memory < 0 || l.Memory > 0 && l.Memory < minMemory:
		wrong = "a memory limit below 64 MiB, with which no agent starts"
	case l.Processes < 0 || l.Processes > 0 && l.Processes < minProcesses:
		wrong = "a limit below 32 processes, with which no agent starts"
	case l.CPUWeight < 0 || l.CPUWeight > 10000:
		wrong = "a CPU weight that is not between 1 and 10000"
	default:
		return nil
	}
	return protocol.Errorf(protocol.CodeInvalid, "sandbox: %s", wrong)
}

const (
	minMemory        = 64 << 20
	minProcesses     = 32
	defaultCPUWeight = 50
)

// controller is one that limits sessions: its name, and the file of a group with its limit.
type controller struct {
	name, file string
	value      func(l Limits, parent string) string
}

var controllers = []controller{
	{"memory", "memory.max", func(l Limits, parent string) string {
		return strconv.FormatInt(cmp.Or(l.Memory, defaultMemory(parent)), 10)
	}},
	{"pids", "pids.max", func(l Limits, _ string) string { return strconv.Itoa(cmp.Or(l.Processes, defaultProcesses)) }},
	{"cpu", "cpu.weight", func(l Limits, _ string) string { return strconv.Itoa(cmp.Or(l.CPUWeight, defaultCPUWeight)) }},
}

// defaultMemory returns four fifths of the smaller one of the machine's memory and the group's limit.
func defaultMemory(parent string) int64 {
	total := int64(1) << 62
	if content, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kilobytes int64
		if _, err := fmt.Sscanf(string(content), "MemTotal: %d kB", &kilobytes); err == nil {
			total = kilobytes << 10
		}
	}
	if limit, err := strconv.ParseInt(readWord(filepath.Join(parent, "memory.max")), 10, 64); err == nil {
		total = min(total, limit)
	}
	return max(total/5*4, minMemory)
}

// groups makes a control group for each program, below one for its session.
//
//	PARENT/host                      the host, where the parent must be without processes
//	PARENT/bellhop-ID/SESSION/N      one program with all that it starts
type groups struct {
	parent      string // a group that the host may divide
	name        string // of the host's own
	controllers []controller
	limits      Limits
}

// openGroups divides a group that the host can use, and returns an error that describes why there is
// none. missing lists controllers that the system does not lend.
func openGroups(parent string, isRoot bool, data string, limits Limits) (g *groups, missing []string, err error) {
	sum := sha256.Sum256([]byte(data))
	g = &groups{parent: parent, name: "bellhop-" + hex.EncodeToString(sum[:6]), limits: limits}
	lent := strings.Fields(readAll(filepath.Join(parent, "cgroup.controllers")))
	for _, c := range controllers {
		if slices.Contains(lent, c.name) {
			g.controllers = append(g.controllers, c)
		} else {
			missing = append(missing, c.name)
		}
	}
	trial := filepath.Join(parent, g.name+"-trial")
	if err := errors.Join(os.Mkdir(trial, 0o755), os.Remove(trial)); err != nil { //nolint:gosec // as other groups
		return nil, missing, fmt.Errorf("the host's control group %s cannot be written: %w", parent, err)
	}
	if len(g.controllers) == 0 {
		return g, missing, nil
	}
	if !isRoot { // the kernel lends controllers only to groups of a group without processes
		if err := moveProcesses(parent, filepath.Join(parent, "host")); err != nil {
			return nil, missing, fmt.Errorf("the host's control group %s cannot be divided: %w", parent, err)
		}
	}
	if err := g.lend(parent); err != nil {
		return nil, missing, fmt.Errorf("the host's control group %s lends no controllers: %w", parent, err)
	}
	return g, missing, nil
}

// moveProcesses moves all processes of a group into another, which it makes.
func moveProcesses(from, to string) error {
	if err := os.Mkdir(to, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // as other groups
		return err
	}
	for range 10 { // new ones may be started meanwhile
		pids := strings.Fields(readAll(filepath.Join(from, "cgroup.procs")))
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			if err := launch.WriteGroup(to, "cgroup.procs", pid); err != nil && !isNoProcess(err) {
				return err
			}
		}
	}
	return errors.New("its processes cannot be moved")
}

// lend lets the groups below a group have the controllers.
func (g *groups) lend(dir string) error {
	for _, c := range g.controllers {
		if err := launch.WriteGroup(dir, "cgroup.subtree_control", "+"+c.name); err != nil {
			return err
		}
	}
	return nil
}

// add makes the group of a new program of a session. The caller starts the program in it and removes it
// with process.RemoveGroup.
func (g *groups) add(session string) (path string, err error) {
	own := filepath.Join(g.parent, g.name)
	dir := filepath.Join(own, "session-"+session)
	g.removeOld(dir)
	for range 3 { // an ended program removes the groups above its own when they are empty
		if err = os.MkdirAll(dir, 0o755); err == nil { //nolint:gosec // programs may read it
			if err = g.lend(own); err == nil {
				err = g.limit(dir)
			}
		}
		if err == nil {
			path, err = os.MkdirTemp(dir, "")
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("control group: %w", err)
	}
	return path, nil
}

// groupAge is more than a program takes from the making of its group until it joins.
const groupAge = time.Hour

// removeOld removes groups of programs that have ended without the host, such as terminal clients.
func (g *groups) removeOld(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && entry.IsDir() && time.Since(info.ModTime()) > groupAge {
			_ = os.Remove(filepath.Join(dir, entry.Name())) // fails if it has processes
		}
	}
}

func (g *groups) limit(dir string) error {
	for _, c := range g.controllers {
		if err := launch.WriteGroup(dir, c.file, c.value(g.limits, g.parent)); err != nil {
			return err
		}
	}
	return nil
}

func readAll(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(content)
}

func readWord(path string) string { return strings.TrimSpace(readAll(path)) }

// openGroups sets the groups of the sandbox and describes them in the level.
func (s *Sandbox) openGroups(ctx context.Context) {
	if s.options.Limits.Mode == LimitOff || s.level.Error != "" {
		return
	}
	parent, isRoot, err := s.options.GroupParent, false, error(nil)
	if parent == "" {
		parent, isRoot, err = findGroup()
	}
	var missing []string
	if err == nil {
		s.groups, missing, err = openGroups(parent, isRoot, s.options.Data, s.options.Limits)
	}
	if err == nil {
		err = s.tryGroup(ctx)
	}
	switch {
	case err != nil:
		s.groups, s.level.NoLimits = nil, err.Error()
	case len(missing) > 0:
		s.level.NoLimits = "the system lends no controller for " + strings.Join(missing, ", ")
	}
	if s.groups != nil {
		s.level.Groups = true
		for _, c := range s.groups.controllers {
			s.level.Limits = append(s.level.Limits, c.name)
		}
	}
}

// tryGroup starts a program in a group: what counts is the effect.
func (s *Sandbox) tryGroup(ctx context.Context) error {
	path, err := s.groups.add("trial")
	if err != nil {
		return err
	}
	defer process.RemoveGroup(path)
	return runInGroup(ctx, s.options.Self, path)
}
