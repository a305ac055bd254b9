package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellhop/internal/lazyregexp"
	"bellhop/internal/openflag"
	"bellhop/internal/process"
)

// runner starts git.
type runner struct {
	program string // "" = there is none
	env     []string
}

// call describes one run of git.
type call struct {
	dir     string // working directory of git; "" = the work tree, or without one the git directory
	repo    repository
	args    []string
	stdin   io.Reader
	limit   int           // bytes of output; 0 = 1 MiB. Longer output ends git with errOutputLimit
	time    time.Duration // 0 = 30 s
	noFiles bool          // git reads and writes no file of the work tree, so no content filter can start
	env     []string      // further variables
	config  [][2]string   // further settings, which may be secrets

	connects bool // git may connect to another repository
}

// repository names a git directory explicitly, because an agent may have changed
// the .git file of its work tree. With the zero value git searches for the
// repository upwards from call.dir.
type repository struct {
	gitDir   string // of the worktree
	workTree string

	commonDir string // has the settings, refs and attributes instead of gitDir
	indexFile string // replaces the index of the work tree
	objectDir string // receives new objects instead of the repository
}

const (
	defaultTimeLimit   = 30 * time.Second
	defaultOutputLimit = 1 << 20
	stderrBytes        = 4 << 10
)

// errOutputLimit means that git wrote more than call.limit bytes.
var errOutputLimit = errors.New("the output of git is too long")

// gitError is the error of a git run that failed.
type gitError struct {
	command string
	stderr  string // end of stderr, without passwords
	err     error
}

func (e *gitError) Error() string {
	if e.stderr == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.stderr)
}

func (e *gitError) Unwrap() error { return e.err }

// stderrOf returns the last stderr output of a failed run, "" for other errors.
func stderrOf(err error) string {
	var failed *gitError
	if errors.As(err, &failed) {
		return failed.stderr
	}
	return ""
}

// exitedWith reports whether git exited with code; a killed git did not.
func exitedWith(err error, code int) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == code
}

// safeConfig overrides the configuration of every repository. Settings that name
// a program are emptied; settings that start background work are off.
var safeConfig = [][2]string{
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
	{"user.name", authorName},
	{"user.email", authorEmail},
}

// inheritedVariables lists the variables of the host that git and ssh may need.
// All others are left out, because the host's environment holds secrets.
var inheritedVariables = []string{
	"PATH", "HOME", "TMPDIR", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
}

func inheritedEnvironment() []string {
	env := []string{
		"LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1", "GIT_NO_LAZY_FETCH=1",
		"GIT_MERGE_AUTOEDIT=no", "GIT_PROXY_COMMAND=", "GIT_ASKPASS=", "SSH_ASKPASS=",
		// New repositories stay of the kind that writeEmptyRepository and the mirrors know.
		"GIT_DEFAULT_HASH=sha1", "GIT_DEFAULT_REF_FORMAT=files",
	}
	for _, name := range inheritedVariables {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// run starts git and returns its stdout. Unless call.noFiles is set, it switches
// the repository's content filters off first, if there can be any.
func (r runner) run(ctx context.Context, c call) ([]byte, error) {
	if r.program == "" {
		return nil, errNoGit
	}
	config := safeConfig
	if !c.noFiles && c.repo.mayHaveFilters() {
		filters, err := r.filtersOff(ctx, c)
		if err != nil {
			return nil, err
		}
		config = append(config[:len(config):len(config)], filters...)
	}
	return r.execute(ctx, c, slices.Concat(config, c.config))
}

// maxPlainConfig is the largest file of settings that is searched for words here; git reads larger ones.
const maxPlainConfig = 64 << 10

// filterWords are the words, in lower case, without which a file of settings can neither define a filter nor lead
// to another file that does. Git knows no escapes in the names of sections and keys.
var filterWords = [][]byte{[]byte("filter"), []byte("include"), []byte("worktreeconfig")}

// mayHaveFilters reports whether git could find a content filter in the settings of a repository. It reads them
// again before each run, so it sees what "git config" would see, without a process. When in doubt it returns true.
func (r repository) mayHaveFilters() bool {
	dir := r.commonDir
	if dir == "" {
		if dir = r.gitDir; dir == "" {
			return true // git searches for the repository
		}
		if _, err := os.Lstat(filepath.Join(dir, "commondir")); !errors.Is(err, fs.ErrNotExist) {
			return true // the settings are in another directory
		}
	}
	content, ok := readPlain(filepath.Join(dir, "config"))
	return !ok || containsAny(content, filterWords)
}

// readPlain returns the content of a small regular file; false for anything else.
func readPlain(path string) ([]byte, bool) {
	file, err := os.OpenFile(path, os.O_RDONLY|openflag.NoWait|openflag.NoFollow, 0)
	if err != nil {
		return nil, false
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	content, err := io.ReadAll(io.LimitReader(file, maxPlainConfig+1))
	return content, err == nil && len(content) <= maxPlainConfig
}

// containsAny reports whether settings contain one of words, which are in lower case.
func containsAny(content []byte, words [][]byte) bool {
	content = bytes.ToLower(content)
	return slices.ContainsFunc(words, func(word []byte) bool { return bytes.Contains(content, word) })
}

// filtersOff returns settings that disable every clean and smudge filter of the
// repository: otherwise reading a file could start a program of the agent.
func (r runner) filtersOff(ctx context.Context, c call) ([][2]string, error) {
	out, err := r.execute(ctx, call{
		dir: c.dir, repo: c.repo,
		args: []string{
			"config", "--includes", "--null", "--name-only", "--get-regexp",
			`^filter\..*\.(clean|smudge|process|required)$`,
		},
	}, safeConfig)
	if err != nil && !exitedWith(err, 1) { // 1: the repository has no filters
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

func (r runner) execute(ctx context.Context, c call, config [][2]string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(max(c.time, 0), defaultTimeLimit))
	defer cancel()
	stdout, stderr := &cappedBuffer{
		limit: cmp.Or(max(c.limit, 0), defaultOutputLimit), onFull: cancel,
	}, &cappedBuffer{limit: stderrBytes}
	cmd := exec.CommandContext(ctx, r.program, c.args...)
	cmd.Dir = cmp.Or(c.dir, c.repo.workTree, c.repo.gitDir)
	if cmd.Dir == "" {
		return nil, fmt.Errorf("git %s: no directory to run in", c.args[0])
	}
	cmd.Env = slices.Concat(r.env, c.protocols(), c.repo.environment(), configVariables(config), c.env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, stdout, stderr
	process.KillsGroup(cmd) // else ssh and remote helpers would hold the pipes open
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	switch {
	case stdout.truncated:
		return stdout.Bytes(), errOutputLimit
	case err == nil:
		return stdout.Bytes(), nil
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	return stdout.Bytes(), &gitError{
		command: c.args[0], stderr: withoutPasswords(strings.TrimSpace(stderr.String())), err: err,
	}
}

// protocols allows git to connect only where that is the purpose: git before 2.45 fetches missing objects
// of a partial clone by itself, from where and with what program its repository says.
func (c call) protocols() []string {
	if c.connects {
		return []string{"GIT_ALLOW_PROTOCOL=file:git:http:https:ssh"}
	}
	return []string{"GIT_ALLOW_PROTOCOL=none"}
}

// objects returns the directory in which a repository that the host chose has its objects.
func (r repository) objects() string { return cmp.Or(r.objectDir, filepath.Join(r.gitDir, "objects")) }

func (r repository) environment() []string {
	var env []string
	for _, v := range [][2]string{
		{"GIT_DIR", r.gitDir},
		{"GIT_WORK_TREE", r.workTree},
		{"GIT_COMMON_DIR", r.commonDir},
		{"GIT_INDEX_FILE", r.indexFile},
		{"GIT_OBJECT_DIRECTORY", r.objectDir},
	} {
		if v[1] != "" && (v[0] != "GIT_WORK_TREE" || r.gitDir != "") {
			env = append(env, v[0]+"="+v[1])
		}
	}
	return env
}

// configVariables passes settings in the environment, because -c cannot express
// a name that contains "=".
func configVariables(config [][2]string) []string {
	env := make([]string, 0, 2*len(config)+1)
	for i, c := range config {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+c[0], "GIT_CONFIG_VALUE_"+n+"="+c[1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(config)))
}

// cappedBuffer keeps the first limit bytes that are written to it.
type cappedBuffer struct {
	bytes.Buffer
	limit     int
	truncated bool
	onFull    func() // called when more than limit bytes arrive; nil = drop them silently
}

func (l *cappedBuffer) Write(p []byte) (int, error) {
	room := min(len(p), l.limit-l.Len())
	l.Buffer.Write(p[:room])
	if room < len(p) && l.onFull != nil {
		l.truncated = true
		l.onFull()
	}
	return len(p), nil
}

var userinfo = lazyregexp.New(`://[^/@\s]*@`)

func withoutPasswords(s string) string { return userinfo.ReplaceAllString(s, "://") }

// trimNewline returns one-line output without its line end.
func trimNewline(out []byte) string { return strings.TrimRight(string(out), "\n") }
