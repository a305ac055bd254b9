package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// runner starts git.
type runner struct {
	program string // "" = there is none
	env     []string
}

// call is one run of git.
type call struct {
	dir   string // where git starts; "" = the work tree
	repo  repository
	args  []string
	stdin io.Reader
	limit int           // bytes of output; 0 = 1 MiB. One that says more is ended, with errOutput
	time  time.Duration // 0 = 30 s
	trust bool          // no file is read or written: there are no filters to look for
}

// repository says which one, without asking a .git file: whoever works in a
// directory may have changed that. Zero: git looks around from the directory.
type repository struct {
	gitDir   string // of the worktree
	workTree string

	index   string // instead of the work tree's own
	objects string // where new objects go instead
}

const (
	callTime    = 30 * time.Second
	callOutput  = 1 << 20
	stderrBytes = 4 << 10
)

// errOutput: git said more than was asked for.
var errOutput = errors.New("git said too much")

// gitError is a run that failed.
type gitError struct {
	command string
	said    string // end of stderr, without passwords
	err     error
}

func (e *gitError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.said)
}

func (e *gitError) Unwrap() error { return e.err }

// said returns what git said to a failure.
func said(err error) string {
	var failed *gitError
	if errors.As(err, &failed) {
		return failed.said
	}
	return ""
}

// exited reports a run that ended by itself with that code.
func exited(err error, code int) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == code
}

// safety is configuration above everybody else's. What names a program is
// emptied; what starts one in the background is switched off.
var safety = [][2]string{
	{"safe.directory", "*"},
	{"core.hooksPath", "/dev/null"},
	{"core.fsmonitor", "false"},
	{"core.untrackedCache", "false"},
	{"core.attributesFile", "/dev/null"},
	{"core.excludesFile", "/dev/null"},
	{"core.sshCommand", "ssh -o BatchMode=yes"},
	{"core.askPass", ""},
	{"core.editor", "false"},
	{"core.pager", "cat"},
	{"core.alternateRefsCommand", ""},
	{"core.quotePath", "false"},
	{"core.bigFileThreshold", "8m"},
	{"credential.helper", ""},
	{"commit.gpgSign", "false"},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"submodule.recurse", "false"},
	{"checkout.defaultRemote", ""},
	{"user.name", "Bellhop"},
	{"user.email", "bellhop@localhost"},
}

// passedOn is what git and ssh may need of the host's environment. Everything
// else, the host's own secrets above all, stays out.
var passedOn = []string{
	"PATH", "HOME", "TMPDIR", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
}

func inheritedEnvironment() []string {
	env := []string{
		"LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=file:git:http:https:ssh", "GIT_MERGE_AUTOEDIT=no",
	}
	for _, name := range passedOn {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// run returns git's output.
func (r runner) run(ctx context.Context, c call) ([]byte, error) {
	if r.program == "" {
		return nil, errNoGit
	}
	config := safety
	if !c.trust {
		filters, err := r.filters(ctx, c)
		if err != nil {
			return nil, err
		}
		config = append(config[:len(config):len(config)], filters...)
	}
	return r.start(ctx, c, config)
}

// filters are the clean and smudge programs that a repository names, switched
// off: a file's content must not start them.
func (r runner) filters(ctx context.Context, c call) ([][2]string, error) {
	out, err := r.start(ctx, call{
		dir: c.dir, repo: c.repo,
		args: []string{"config", "--includes", "--null", "--name-only", "--get-regexp", `^filter\..*\.(clean|smudge|process|required)$`},
	}, safety)
	if err != nil && !exited(err, 1) { // 1: none
		return nil, err
	}
	var off [][2]string
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name == "" {
			continue
		}
		driver := name[:strings.LastIndexByte(name, '.')]
		off = append(off, [2]string{driver + ".clean", ""}, [2]string{driver + ".smudge", ""},
			[2]string{driver + ".process", ""}, [2]string{driver + ".required", "false"})
	}
	return off, nil
}

func (r runner) start(ctx context.Context, c call, config [][2]string) ([]byte, error) {
	limit, most := c.limit, c.time
	if limit <= 0 {
		limit = callOutput
	}
	if most <= 0 {
		most = callTime
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.program, c.args...)
	cmd.Dir = orElse(c.dir, c.repo.workTree)
	cmd.Env = append(append(r.env[:len(r.env):len(r.env)], c.repo.environment()...), configuration(config)...)
	cmd.Stdin = c.stdin
	stdout, stderr := &limited{most: limit, full: cancel}, &limited{most: stderrBytes}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	// ssh and the remote helpers go with git, and hold no pipe open after it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	switch {
	case stdout.over:
		return stdout.Bytes(), errOutput
	case err == nil:
		return stdout.Bytes(), nil
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	return stdout.Bytes(), &gitError{command: c.args[0], said: withoutPasswords(strings.TrimSpace(stderr.String())), err: err}
}

func (r repository) environment() []string {
	var env []string
	for _, v := range [][2]string{
		{"GIT_DIR", r.gitDir},
		{"GIT_WORK_TREE", r.workTree},
		{"GIT_INDEX_FILE", r.index},
		{"GIT_OBJECT_DIRECTORY", r.objects},
	} {
		if v[1] != "" && (v[0] != "GIT_WORK_TREE" || r.gitDir != "") {
			env = append(env, v[0]+"="+v[1])
		}
	}
	return env
}

// configuration travels by environment: a name with "=" in it cannot be told
// with -c.
func configuration(config [][2]string) []string {
	env := make([]string, 0, 2*len(config)+1)
	for i, c := range config {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+c[0], "GIT_CONFIG_VALUE_"+n+"="+c[1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(config)))
}

// limited keeps the first bytes that are written to it.
type limited struct {
	bytes.Buffer
	most int
	over bool
	full func() // called when there is more
}

func (l *limited) Write(p []byte) (int, error) {
	room := min(len(p), l.most-l.Len())
	l.Buffer.Write(p[:room])
	if room < len(p) && l.full != nil {
		l.over = true
		l.full()
	}
	return len(p), nil
}

var userinfo = regexp.MustCompile(`://[^/@\s]*@`)

func withoutPasswords(s string) string { return userinfo.ReplaceAllString(s, "://") }

// line is a one-line answer.
func line(out []byte) string { return strings.TrimRight(string(out), "\n") }
