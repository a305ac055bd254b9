package api

import (
	"os"
	"path/filepath"
	"time"
)

const (
	// marksDir is a directory in Config.Workspaces with an empty file for each session whose directory the server
	// made. The time of the file is when the session was open last. Nothing else is ever removed.
	marksDir   = ".bellhop-sessions"
	pruneEvery = time.Hour
)

func (s *Server) markOf(id string) string { return filepath.Join(s.config.Workspaces, marksDir, id) }

// makeWorkspace creates a session's directory in Config.Workspaces.
func (s *Server) makeWorkspace(id string) (dir string, err error) {
	dir = filepath.Join(s.config.Workspaces, id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	err = os.MkdirAll(filepath.Join(s.config.Workspaces, marksDir), 0o700)
	if err == nil {
		err = os.WriteFile(s.markOf(id), nil, 0o600)
	}
	s.touch(id)
	return dir, err
}

// leaveWorkspace removes an empty directory of a session that has ended. One with files stays for Config.Retention.
func (s *Server) leaveWorkspace(id string) {
	if os.Remove(filepath.Join(s.config.Workspaces, id)) == nil {
		_ = os.Remove(s.markOf(id))
		return
	}
	s.touch(id)
}

func (s *Server) touch(id string) {
	now := s.config.Now()
	if err := os.Chtimes(s.markOf(id), now, now); err != nil {
		s.config.Log.Warn("the directory of a session will stay", "session", id, "err", err)
	}
}

// pruneWorkspaces removes the directories of sessions that ended longer ago than Config.Retention. Other servers may
// have sessions in the same place: each one renews the marks of its own.
func (s *Server) pruneWorkspaces() {
	for _, one := range s.all() {
		s.touch(one.id)
	}
	marks, _ := os.ReadDir(filepath.Join(s.config.Workspaces, marksDir))
	for _, mark := range marks {
		info, err := mark.Info()
		if err != nil || s.config.Held().Sub(info.ModTime()) < s.config.Retention {
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.config.Workspaces, mark.Name())); err != nil {
			s.config.Log.Warn("the directory of a session cannot be removed", "session", mark.Name(), "err", err)
			continue
		}
		_ = os.Remove(s.markOf(mark.Name()))
		s.config.Log.Info("the directory of a session was removed", "session", mark.Name())
	}
}
