package notebook

import (
	"context"
	"time"

	"bellhop/protocol"
)

// SaveRequest is code with the reason it was written.
type SaveRequest struct {
	NotebookID string         `json:"notebookId" jsonschema:"id of your notebook, from create_agent_notebook"`
	Title      string         `json:"title" jsonschema:"what the code is, in a few words"`
	Code       string         `json:"code" jsonschema:"the code itself, complete, at most 512 KiB"`
	Language   string         `json:"language,omitempty" jsonschema:"such as go, typescript or python; detected if left out"`
	Context    string         `json:"context" jsonschema:"why the code was written and what the user wanted, so that questions about it can be answered later"`
	Metadata   map[string]any `json:"metadata,omitempty" jsonschema:"anything else worth keeping, such as file paths, as a JSON object"`
}

// SourceResponse has one source.
type SourceResponse struct {
	Source protocol.Source `json:"source"`
}

// SourcesResponse has sources, newest first.
type SourcesResponse struct {
	Sources []protocol.Source `json:"sources"`
}

// VerifyRequest asks for a verification; nothing is saved.
type VerifyRequest struct {
	Code     string `json:"code" jsonschema:"the code to check, at most 512 KiB"`
	Language string `json:"language,omitempty" jsonschema:"such as go, typescript or python; detected if left out"`
}

func (c *check) code(value, language string) {
	c.text("code", value, true, MaxCode)
	c.text("language", language, false, maxLanguage)
}

// Save stores code as a new source, even if its verification fails.
func (s *Service) Save(ctx context.Context, c Caller, r *SaveRequest) (*SourceResponse, error) {
	var bad check
	bad.text("notebookId", r.NotebookID, true, maxName)
	bad.text("title", r.Title, true, maxName)
	bad.code(r.Code, r.Language)
	bad.text("context", r.Context, true, maxContext)
	bad.metadata(r.Metadata)
	if bad.err != nil {
		return nil, bad.err
	}
	notebook, err := s.agentsNotebook(ctx, c, r.NotebookID)
	if err != nil {
		return nil, err
	}
	verification := s.o.Verifier.Verify(ctx, r.Language, r.Code)
	var resp *SourceResponse
	err = s.agentChange(ctx, c,
		notebook.SessionID, func(ctx context.Context, session *Session, now time.Time) (err error) {
			resp, err = s.insert(ctx, session, r, &verification, now)
			return err
		})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (s *Service) agentsNotebook(ctx context.Context, c Caller, id string) (*Notebook, error) {
	notebook, err := s.o.Store.Notebook(ctx, c.UserID, id)
	if err != nil {
		return nil, err
	}
	return notebook, s.usableBy(ctx, c, notebook.SessionID, "Notebook")
}

func (s *Service) insert(
	ctx context.Context, session *Session, r *SaveRequest, v *protocol.Verification, now time.Time,
) (*SourceResponse, error) {
	if _, err := s.o.Store.Notebook(ctx, session.UserID, r.NotebookID); err != nil { // deleted meanwhile
		return nil, err
	}
	n, err := s.o.Store.CountSources(ctx, r.NotebookID)
	if err != nil {
		return nil, err
	}
	if n >= maxSources {
		return nil, protocol.Errorf(protocol.CodeConflict, "The notebook is full: it has %d sources", n)
	}
	source := &Source{
		ID: protocol.NewID(), UserID: session.UserID, NotebookID: r.NotebookID, SessionID: session.ID, Title: r.Title,
		Language: v.Language, Context: r.Context, Metadata: r.Metadata, Version: 1, CreatedAt: now,
	}
	version := &Version{
		SourceID: source.ID, Number: 1, Code: r.Code, Author: session.AgentIdentifier, Verification: v, CreatedAt: now,
	}
	if err := s.o.Store.InsertSource(ctx, source); err != nil {
		return nil, err
	}
	if err := s.o.Store.InsertVersion(ctx, version); err != nil {
		return nil, err
	}
	session.changed(protocol.AgentEventSource, source.ID, now)
	return &SourceResponse{Source: s.showSource(source, version, session, now)}, nil
}

// AgentSources lists the sources of the calling agent.
func (s *Service) AgentSources(ctx context.Context, c Caller, sessionID string) (*SourcesResponse, error) {
	session, err := s.session(ctx, c, sessionID)
	if err != nil {
		return nil, err
	}
	if err := s.usable(session, s.nowUTC()); err != nil {
		return nil, err
	}
	return s.sources(ctx, c.UserID, SourceFilter{SessionID: session.ID}, session)
}

func (s *Service) sources(
	ctx context.Context, userID string, in SourceFilter, session *Session) (*SourcesResponse, error,
) {
	resp := &SourcesResponse{Sources: []protocol.Source{}}
	now := s.nowUTC()
	err := s.o.Store.Read(ctx, func(ctx context.Context) error {
		sources, err := s.o.Store.Sources(ctx, userID, in)
		if err != nil {
			return err
		}
		versions, err := s.o.Store.Newest(ctx, sources, listBudget)
		if err != nil {
			return err
		}
		for i := range sources {
			resp.Sources = append(resp.Sources, s.showSource(&sources[i], &versions[i], session, now))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// Verify checks code without storing it.
func (s *Service) Verify(ctx context.Context, r *VerifyRequest) (*protocol.Verification, error) {
	var bad check
	bad.code(r.Code, r.Language)
	if bad.err != nil {
		return nil, bad.err
	}
	v := s.o.Verifier.Verify(ctx, r.Language, r.Code)
	return showVerification(&v), nil
}
