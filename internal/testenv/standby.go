package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Standby returns a running hot standby, made by pg_basebackup, that streams from
// the server until it is promoted.
func (s *Server) Standby() *Server {
	s.t.Helper()
	standby := s.copyOf("-R")
	standby.Start()
	return standby
}

// Backup returns a stopped copy of the server, made by pg_basebackup.
func (s *Server) Backup() *Server {
	s.t.Helper()
	return s.copyOf()
}

func (s *Server) copyOf(flags ...string) *Server {
	s.t.Helper()
	port, err := freePort()
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := s.cluster.copy(port, flags...)
	if err != nil {
		s.t.Fatal(err)
	}
	return newServer(s.t, c)
}

// Promote makes a standby a primary. It returns when the server takes writes.
func (s *Server) Promote() {
	s.t.Helper()
	promote := s.cluster.command(filepath.Join(s.cluster.bin, "pg_ctl"), "promote", "-w", "-D", s.cluster.data())
	if out, err := promote.CombinedOutput(); err != nil {
		s.t.Fatalf("promote: %v\n%s", err, out)
	}
}

// Restore stops the server, gives it the data of a backup and starts it, as an
// operator restores a snapshot of the data directory. The backup stays as it is.
func (s *Server) Restore(backup *Server) {
	s.t.Helper()
	s.Stop()
	if err := os.RemoveAll(s.cluster.data()); err != nil {
		s.t.Fatal(err)
	}
	if out, err := s.cluster.command("cp", "-a", backup.cluster.data(), s.cluster.data()).CombinedOutput(); err != nil {
		s.t.Fatalf("copy the backup: %v\n%s", err, out)
	}
	s.Start()
}

// Shell runs a program of PostgreSQL on the server as its superuser, such as pg_dump;
// it returns what the program printed.
func (s *Server) Shell(program string, args ...string) string {
	s.t.Helper()
	cmd := s.cluster.command(filepath.Join(s.cluster.bin, program), args...)
	cmd.Env = append(cmd.Env, "PGHOST=127.0.0.1", "PGPORT="+strconv.Itoa(s.cluster.port), "PGUSER=postgres", "PGDATABASE=postgres")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", program, err, out)
	}
	return string(out)
}

// Dir is a folder that the server's programs may write to.
func (s *Server) Dir() string { return s.cluster.dir }

// copy makes another cluster with pg_basebackup, without starting it.
func (c *cluster) copy(port int, flags ...string) (*cluster, error) {
	next, err := newFolder(tempDir, port)
	if err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		err = next.dropRoot()
	}
	if err == nil {
		args := append([]string{
			"-h", c.dir, "-p", strconv.Itoa(c.port), "-U", "postgres", "-D", next.data(), "-X", "stream", "-c", "fast", "--no-sync",
		}, flags...)
		var out []byte
		if out, err = next.command(filepath.Join(c.bin, "pg_basebackup"), args...).CombinedOutput(); err != nil {
			err = fmt.Errorf("pg_basebackup: %w\n%s", err, out)
		}
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(next.dir))
	}
	return next, nil
}

func newServer(t testing.TB, c *cluster) *Server {
	s := &Server{t: t, cluster: c}
	t.Cleanup(func() {
		s.Stop()
		if err := os.RemoveAll(c.dir); err != nil {
			t.Error(err)
		}
	})
	return s
}
