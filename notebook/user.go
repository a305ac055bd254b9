package notebook

import (
	"context"
	"time"

	"bellhop/protocol"
)

// NotebooksResponse has a user's notebooks, newest first.
type NotebooksResponse struct {
	Notebooks []protocol.Notebook `json:"notebooks"`
}

// ContentsResponse has a notebook and its sources, newest first.
type ContentsResponse struct {
	Notebook protocol.Notebook `json:"notebook"`
	Sources  []protocol.Source `json:"sources"`
}

// VersionsResponse has the versions of a source, oldest first.
type VersionsResponse struct {
	Versions []protocol.SourceVersion `json:"versions"`
}

// Notebooks lists a user's notebooks.
func (s *Service) Notebooks(ctx context.Context, userID string) (*NotebooksResponse, error) {
	resp := &NotebooksResponse{Notebooks: []protocol.Notebook{}}
	now := s.nowUTC()
	err := s.o.Store.Read(ctx, func(ctx context.Context) error {
		notebooks, err := s.o.Store.Notebooks(ctx, userID)
		if err != nil {
			return err
		}
		sessions, err := s.o.Store.Sessions(ctx, userID, "")
		if err != nil {
			return err
		}
		byID := make(map[string]*Session, len(sessions))
		for i := range sessions {
			byID[sessions[i].ID] = &sessions[i]
		}
		unread, err := s.o.Store.Unread(ctx, userID)
		if err != nil {
			return err
		}
		for i := range notebooks {
			if session := byID[notebooks[i].SessionID]; session != nil {
				shown := s.showNotebook(&notebooks[i], session, now)
				shown.Unread = unreadIn(unread, func(u Unread) bool { return u.NotebookID == shown.ID })
				resp.Notebooks = append(resp.Notebooks, shown)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// Notebook returns a notebook with its sources.
func (s *Service) Notebook(ctx context.Context, userID, id string) (*ContentsResponse, error) {
	n, err := s.o.Store.Notebook(ctx, userID, id)
	if err != nil {
		return nil, err
	}
	session, err := s.o.Store.Session(ctx, userID, n.SessionID)
	if err != nil {
		return nil, err
	}
	sources, err := s.sources(ctx, userID, SourceFilter{NotebookID: n.ID}, session)
	if err != nil {
		return nil, err
	}
	unread, err := s.o.Store.Unread(ctx, userID)
	if err != nil {
		return nil, err
	}
	shown := s.showNotebook(n, session, s.nowUTC())
	shown.Unread = unreadIn(unread, func(u Unread) bool { return u.NotebookID == id })
	for i := range sources.Sources {
		source := &sources.Sources[i]
		source.Unread = unreadIn(unread, func(u Unread) bool { return u.SourceID == source.ID })
	}
	return &ContentsResponse{Notebook: shown, Sources: sources.Sources}, nil
}

func unreadIn(all []Unread, in func(Unread) bool) (messages int) {
	for _, u := range all {
		if in(u) {
			messages += u.Messages
		}
	}
	return messages
}

// DeleteNotebook deletes a notebook with its sources. The agent session stays, and its agent
// may create another notebook.
func (s *Service) DeleteNotebook(ctx context.Context, userID, id string) error {
	n, err := s.o.Store.Notebook(ctx, userID, id)
	if err != nil {
		return err
	}
	return s.change(ctx, userID, n.SessionID, func(ctx context.Context, session *Session, now time.Time) error {
		session.changed(protocol.AgentEventSource, "", now)
		return s.o.Store.DeleteNotebook(ctx, userID, id)
	})
}

// Source returns a source at its newest version.
func (s *Service) Source(ctx context.Context, userID, id string) (*SourceResponse, error) {
	var resp *SourceResponse
	err := s.o.Store.Read(ctx, func(ctx context.Context) error {
		source, version, err := s.newest(ctx, userID, id)
		if err != nil {
			return err
		}
		session, err := s.o.Store.Session(ctx, userID, source.SessionID)
		if err != nil {
			return err
		}
		resp = &SourceResponse{Source: s.showSource(source, version, session, s.nowUTC())}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// newest returns a source and its newest version.
func (s *Service) newest(ctx context.Context, userID, id string) (*Source, *Version, error) {
	source, err := s.o.Store.Source(ctx, userID, id)
	if err != nil {
		return nil, nil, err
	}
	version, err := s.o.Store.Version(ctx, source.ID, source.Version)
	return source, version, err
}

// Versions lists the versions of a source with their diffs.
func (s *Service) Versions(ctx context.Context, userID, id string) (*VersionsResponse, error) {
	source, err := s.o.Store.Source(ctx, userID, id)
	if err != nil {
		return nil, err
	}
	versions, err := s.o.Store.Versions(ctx, source.ID, listBudget)
	if err != nil {
		return nil, err
	}
	resp := &VersionsResponse{Versions: make([]protocol.SourceVersion, len(versions))}
	for i := range versions {
		resp.Versions[i] = showVersion(&versions[i])
	}
	return resp, nil
}

// VersionResponse has one version of a source.
type VersionResponse struct {
	Version protocol.SourceVersion `json:"version"`
}

// Version returns one version of a source with its complete code.
func (s *Service) Version(ctx context.Context, userID, id string, number int64) (*VersionResponse, error) {
	source, err := s.o.Store.Source(ctx, userID, id)
	if err != nil {
		return nil, err
	}
	version, err := s.o.Store.Version(ctx, source.ID, number)
	if err != nil {
		return nil, err
	}
	return &VersionResponse{Version: showVersion(version)}, nil
}

// DeleteSource deletes a source with its versions and its conversation.
func (s *Service) DeleteSource(ctx context.Context, userID, id string) error {
	source, err := s.o.Store.Source(ctx, userID, id)
	if err != nil {
		return err
	}
	return s.change(ctx, userID, source.SessionID, func(ctx context.Context, session *Session, now time.Time) error {
		session.changed(protocol.AgentEventSource, id, now)
		return s.o.Store.DeleteSource(ctx, userID, id)
	})
}
