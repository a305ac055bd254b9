package testenv

import (
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
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const startLimit = 30 * time.Second

// cluster is a data folder and, between start and stop, a server on it.
type cluster struct {
	bin  string
	dir  string
	cred *syscall.Credential
	port int // 0 = unix socket only

	guard *exec.Cmd
	leash io.WriteCloser
}

// guardScript runs the server as a child and stops it when the test process closes the pipe or
// ends in any way, so that no test leaves a server behind.
const guardScript = `dir=$1; shift
"$@" >>"$dir/log" 2>&1 &
read -r word
kill -QUIT $!
wait $!
[ "$word" = keep ] || rm -rf "$dir"`

var errMissing = errors.New("PostgreSQL's initdb is neither in PATH nor under /usr/lib/postgresql: install it, as with `apt-get install postgresql`")

// tempDir is short: the path of a unix socket has at most 107 bytes, and os.TempDir
// may be too long.
const tempDir = "/tmp"

func newCluster(parent string, port int) (*cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, "bellhop-pg-")
	if err != nil {
		return nil, err
	}
	c := &cluster{bin: bin, dir: dir, port: port}
	if err := c.init(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

func binaries() (string, error) {
	if p, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(p), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errMissing
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return release(a) - release(b) })
	return filepath.Dir(newest), nil
}

// release returns the version in a path: of /usr/lib/postgresql/15/bin/initdb, 15.
func release(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

func (c *cluster) init() error {
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		if err := c.dropRoot(); err != nil {
			return err
		}
	}
	initdb := c.command(filepath.Join(c.bin, "initdb"), "-D", c.data(), "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

func (c *cluster) dropRoot() error {
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
	c.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(c.dir, int(uid), int(gid))
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	// A process group of its own, so that Ctrl-C in a terminal does not end it before the
	// tests.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.cred, Setpgid: true}
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PGTZ=UTC")
	return cmd
}

// start runs the server without fsync, since its data need not survive the machine. Only a
// server with a port is ever restarted, so only its commits must survive the process.
func (c *cluster) start() error {
	args := []string{
		"-c", guardScript, "sh", c.dir, filepath.Join(c.bin, "postgres"), "-D", c.data(), "-k", c.dir,
		"-c", "fsync=off", "-c", "full_page_writes=off",
		"-c", "max_connections=200", "-c", "shared_buffers=64MB",
	}
	if c.port == 0 {
		args = append(args, "-c", "listen_addresses=", "-c", "synchronous_commit=off")
	} else {
		args = append(args, "-c", "listen_addresses=127.0.0.1", "-c", "port="+strconv.Itoa(c.port))
	}
	c.guard = c.command("/bin/sh", args...)
	var err error
	if c.leash, err = c.guard.StdinPipe(); err != nil {
		return err
	}
	if err := c.guard.Start(); err != nil {
		return err
	}
	if err := c.ready(); err != nil {
		log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
		return errors.Join(fmt.Errorf("start PostgreSQL: %w\n%s", err, log), c.stop(false))
	}
	return nil
}

func (c *cluster) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		conn, err := pgx.Connect(ctx, c.socketURL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return err
		}
	}
}

// stop kills the server like a crash and removes the folder, unless it is kept for another
// start.
func (c *cluster) stop(keep bool) error {
	if c.guard == nil {
		return nil
	}
	if keep {
		if _, err := io.WriteString(c.leash, "keep\n"); err != nil {
			return err
		}
	}
	if err := c.leash.Close(); err != nil {
		return err
	}
	err := c.guard.Wait()
	c.guard = nil
	return err
}

func (c *cluster) socketURL(database string) string {
	q := url.Values{"sslmode": {"disable"}, "host": {c.dir}}
	if c.port != 0 {
		q.Set("port", strconv.Itoa(c.port))
	}
	return "postgres://postgres@/" + database + "?" + q.Encode()
}

func (c *cluster) exec(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.socketURL("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}
