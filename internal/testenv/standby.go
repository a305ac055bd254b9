package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bellhop/internal/pgserver"
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
	port, err := FreePort()
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := baseBackup(s.cluster, port, flags...)
	if err != nil {
		s.t.Fatal(err)
	}
	return newServer(s.t, c)
}

// Promote makes a standby a primary. It returns when the server takes writes.
func (s *Server) Promote() {
	s.t.Helper()
	if err := s.cluster.Program("pg_ctl", "promote", "-w", "-D", s.cluster.Data()); err != nil {
		s.t.Fatal(err)
	}
}

// Restore stops the server, gives it the data of a backup and starts it, as an
// operator restores a snapshot of the data directory. The backup stays as it is.
func (s *Server) Restore(backup *Server) {
	s.t.Helper()
	s.Stop()
	if err := os.RemoveAll(s.cluster.Data()); err != nil {
		s.t.Fatal(err)
	}
	if err := s.cluster.Copy(backup.cluster.Data(), s.cluster.Data()); err != nil {
		s.t.Fatal(err)
	}
	s.Start()
}

// Archive has the server archive its log continuously, and returns the archive's folder. The
// server restarts.
func (s *Server) Archive() string {
	s.t.Helper()
	archive := filepath.Join(s.Dir(), "archive")
	command := fmt.Sprintf("mkdir -p %[1]s && test ! -f %[1]s/%%f && cp %%p %[1]s/%%f", archive)
	s.Shell("psql", "-c", "ALTER SYSTEM SET archive_mode = on", "-c", "ALTER SYSTEM SET archive_command = '"+command+"'")
	s.Stop()
	s.Start()
	return archive
}

// RecoverTo is Restore, and then applies the archived log until a time. The backup gets the
// settings of the recovery.
func (s *Server) RecoverTo(backup *Server, archive, until string) {
	s.t.Helper()
	data := backup.cluster.Data()
	settings := fmt.Sprintf("restore_command = 'cp %s/%%f %%p'\nrecovery_target_time = '%s'\n"+
		"recovery_target_action = 'promote'\n", archive, until)
	config, err := os.OpenFile(filepath.Join(data, "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = config.WriteString(settings)
	signal := filepath.Join(data, "recovery.signal")
	err = errors.Join(err, config.Close(), os.WriteFile(signal, nil, 0o600))
	err = errors.Join(err, os.Chmod(signal, 0o666)) // PostgreSQL may be another user
	if err != nil {
		s.t.Fatal(err)
	}
	s.Restore(backup)
}

// Shell runs a program of PostgreSQL on the server as its superuser, such as pg_dump;
// it returns what the program printed.
func (s *Server) Shell(program string, args ...string) string {
	s.t.Helper()
	out, err := s.cluster.Output(program, args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// Dir is a folder that the server's programs may write to.
func (s *Server) Dir() string { return s.cluster.Dir() }

// baseBackup makes another cluster with pg_basebackup, without starting it.
func baseBackup(of *pgserver.Server, port int, flags ...string) (*pgserver.Server, error) {
	next, err := pgserver.New(pgserver.TempDir, port)
	if err != nil {
		return nil, err
	}
	if err := of.BaseBackup(next, next.Data(), flags...); err != nil {
		return nil, errors.Join(err, os.RemoveAll(next.Dir()))
	}
	return next, nil
}

func newServer(t testing.TB, c *pgserver.Server) *Server {
	s := &Server{t: t, cluster: c}
	t.Cleanup(func() {
		s.Stop()
		if err := os.RemoveAll(c.Dir()); err != nil {
			t.Error(err)
		}
	})
	return s
}
