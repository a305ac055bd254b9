package pgserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const startLimit = 30 * time.Second

// Server is a folder with a cluster's data and, between Start and Stop, a server on it. It is
// not safe for concurrent use.
type Server struct {
	Port int // on 127.0.0.1; 0 = unix socket only

	bin   string
	dir   string
	cred  *syscall.Credential
	guard *exec.Cmd
	leash io.WriteCloser
	major int
}

// guardScript runs the server as a child and stops it when the test process closes the pipe or
// ends in any way, so that no test leaves a server behind.
const guardScript = `dir=$1; shift
"$@" >>"$dir/log" 2>&1 &
read -r word
kill -QUIT $!
wait $!
[ "$word" = keep ] || rm -rf "$dir"`

var errMissing = errors.New("PostgreSQL's initdb is neither in PATH nor under /usr/lib/postgresql: install it, as " +
	"with `apt-get install postgresql`")

// TempDir is a short parent for New: the path of a unix socket has at most 107 bytes, and
// os.TempDir may be too long.
const TempDir = "/tmp"

// New creates the folder of a server below parent. It has no data yet: Init makes an empty
// cluster, BaseBackup copies a running one.
func New(parent string, port int) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, "bellhop-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{Port: port, bin: bin, dir: dir}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		if err := s.dropRoot(); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	return s, nil
}

// binaries prefers the folder of a release, because the PATH may have links to some programs
// only.
func binaries() (string, error) {
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); err == nil && len(found) > 0 {
		newest := slices.MaxFunc(found, func(a, b string) int { return release(a) - release(b) })
		return filepath.Dir(newest), nil
	}
	p, err := exec.LookPath("initdb")
	if err != nil {
		return "", errMissing
	}
	return filepath.Dir(p), nil
}

// release returns the version in a path: of /usr/lib/postgresql/15/bin/initdb, 15.
func release(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

// Version names the machine's PostgreSQL, such as "PostgreSQL 15.18"; "" if there is none.
func Version(ctx context.Context) string {
	bin, err := binaries()
	if err != nil {
		return ""
	}
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output()
	version, _, _ := strings.Cut(strings.TrimPrefix(string(out), "postgres (PostgreSQL) "), " ")
	if err != nil {
		return ""
	}
	return "PostgreSQL " + strings.TrimSpace(version)
}

// Init makes an empty cluster.
func (s *Server) Init() error {
	return s.Program("initdb", "-D", s.Data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
}

// Program runs one of PostgreSQL's programs as the server's user. Its output is in the error.
func (s *Server) Program(name string, args ...string) error {
	_, err := s.Output(name, args...)
	return err
}

// Output is Program, and returns what the program printed. The program finds this server by
// PGHOST, PGPORT and PGUSER.
func (s *Server) Output(name string, args ...string) (string, error) {
	cmd := s.command(filepath.Join(s.bin, name), args...)
	cmd.Env = append(cmd.Env, "PGHOST="+s.dir, "PGPORT="+strconv.Itoa(cmp.Or(s.Port, 5432)), "PGUSER=postgres",
		"PGDATABASE=postgres")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return string(out), nil
}

// BaseBackup copies the running server's cluster to a new folder of owner with pg_basebackup.
func (s *Server) BaseBackup(owner *Server, to string, flags ...string) error {
	args := []string{
		"-h", s.dir, "-p", strconv.Itoa(s.Port), "-U", "postgres", "-D", to, "-X", "stream", "-c", "fast", "--no-sync",
	}
	return owner.Program("pg_basebackup", append(args, flags...)...)
}

// Copy copies a folder as the server's user.
func (s *Server) Copy(from, to string) error {
	if out, err := s.command("cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w\n%s", from, err, out)
	}
	return nil
}

func (s *Server) dropRoot() error {
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return fmt.Errorf("as root, PostgreSQL needs a user postgres or nobody: %w", err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	s.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.dir, int(uid), int(gid))
}

// Data is the folder of the cluster's files.
func (s *Server) Data() string { return filepath.Join(s.dir, "data") }

// Dir is the folder of everything that the server has; Stop removes it unless it is kept.
func (s *Server) Dir() string { return s.dir }

// Running reports whether the server was started and not stopped since.
func (s *Server) Running() bool { return s.guard != nil }

// Processes returns the ids of the postmaster, first, and its children.
func (s *Server) Processes() ([]int, error) {
	content, err := os.ReadFile(filepath.Join(s.Data(), "postmaster.pid"))
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(content), "\n")
	postmaster, err := strconv.Atoi(first)
	if err != nil {
		return nil, err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", postmaster, postmaster))
	if err != nil {
		return nil, err
	}
	pids := []int{postmaster}
	for word := range strings.FieldsSeq(string(children)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...) //nolint:noctx // a context would end the guard without its server
	cmd.Dir = s.dir
	// A process group of its own, so that Ctrl-C in a terminal does not end it before the
	// tests.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Setpgid: true}
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PGTZ=UTC")
	return cmd
}

// Start runs the server without fsync, since its data need not survive the machine; commits
// survive the end of the process. settings are name=value. Start returns when the server accepts
// connections.
func (s *Server) Start(settings ...string) error {
	args := []string{"-c", guardScript, "sh", s.dir, filepath.Join(s.bin, "postgres"), "-D", s.Data(), "-k", s.dir}
	settings = append([]string{"fsync=off", "full_page_writes=off", "max_connections=200", "shared_buffers=64MB"},
		settings...)
	if s.Port == 0 {
		settings = append(settings, "listen_addresses=")
	} else {
		settings = append(settings, "listen_addresses=127.0.0.1", "port="+strconv.Itoa(s.Port))
	}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	s.guard = s.command("/bin/sh", args...)
	var err error
	if s.leash, err = s.guard.StdinPipe(); err != nil {
		return err
	}
	if err := s.guard.Start(); err != nil {
		return err
	}
	if err := s.ready(); err != nil {
		log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
		return errors.Join(fmt.Errorf("start PostgreSQL: %w\n%s", err, log), s.Stop(false))
	}
	return nil
}

func (s *Server) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.SocketURL("postgres"))
		if err == nil {
			s.major = major(conn.PgConn().ParameterStatus("server_version"))
			return conn.Close(ctx)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return err
		}
	}
}

// Major returns the first number of the version of the server that was started, such as 15.
func (s *Server) Major() int { return s.major }

// major returns 15 for 15.18 and for 15beta1, as the server reports its version.
func major(version string) int {
	end := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(version)
	}
	n, _ := strconv.Atoi(version[:end])
	return n
}

// Stop kills the server like a crash and removes the folder, unless it is kept for another
// Start. It may be called again.
func (s *Server) Stop(keep bool) error {
	if s.guard == nil {
		return nil
	}
	if keep {
		if _, err := io.WriteString(s.leash, "keep\n"); err != nil {
			return err
		}
	}
	if err := s.leash.Close(); err != nil {
		return err
	}
	err := s.guard.Wait()
	s.guard = nil
	return err
}

// SocketURL is the URL of a database over the unix socket.
func (s *Server) SocketURL(database string) string {
	q := url.Values{"sslmode": {"disable"}, "host": {s.dir}}
	if s.Port != 0 {
		q.Set("port", strconv.Itoa(s.Port))
	}
	return "postgres://postgres@/" + database + "?" + q.Encode()
}

// Exec runs statements in the database postgres, outside any transaction.
func (s *Server) Exec(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.SocketURL("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}
