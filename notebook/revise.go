package notebook

import (
	"context"
	"time"

	udiff "github.com/aymanbagabas/go-udiff"

	"bellhop/internal/database"
	"bellhop/protocol"
)

// GetRequest asks for one source of the calling agent.
type GetRequest struct {
	SourceID     string `json:"sourceId" jsonschema:"id of the source"`
	Conversation bool   `json:"conversation,omitempty" jsonschema:"also return what the user and you said about it"`
}

// GetResponse has a source with its code. Messages are the newest, oldest first.
type GetResponse struct {
	Source   protocol.Source            `json:"source"`
	Messages []protocol.FollowupMessage `json:"messages,omitempty"`
}

// UpdateRequest is new code for a source.
type UpdateRequest struct {
	Code        string `json:"code" jsonschema:"the whole new code, not a patch, at most 512 KiB"`
	Description string `json:"description,omitempty" jsonschema:"what changed and why, in a sentence"`
	BaseVersion int64  `json:"baseVersion,omitempty" jsonschema:"the version you changed: if the source has a newer one, nothing is stored"`
}

// agentsSource returns a source that the caller may change now.
func (s *Service) agentsSource(ctx context.Context, c Caller, id string) (*Source, error) {
	source, err := s.o.Store.Source(ctx, c.UserID, id)
	if err != nil {
		return nil, err
	}
	return source, s.usableBy(ctx, c, source.SessionID, "Source")
}

// AgentSource returns a source of the calling agent at its newest version.
func (s *Service) AgentSource(ctx context.Context, c Caller, r *GetRequest) (*GetResponse, error) {
	if _, err := s.agentsSource(ctx, c, r.SourceID); err != nil {
		return nil, err
	}
	found, err := s.Source(ctx, c.UserID, r.SourceID)
	if err != nil || !r.Conversation {
		return sourceOnly(found), err
	}
	messages, err := s.o.Store.Messages(ctx, r.SourceID, 0, maxHistory, deliveryBudget)
	if err != nil {
		return nil, err
	}
	return &GetResponse{Source: found.Source, Messages: showMessages(messages)}, nil
}

func sourceOnly(found *SourceResponse) *GetResponse {
	if found == nil {
		return nil
	}
	return &GetResponse{Source: found.Source}
}

// Update adds a version to a source. The code that the source has already adds none, so a
// repeated call changes nothing. If BaseVersion is not the newest, it returns CodeConflict.
func (s *Service) Update(ctx context.Context, c Caller, id string, r *UpdateRequest) (*SourceResponse, error) {
	var bad check
	bad.text("code", r.Code, true, MaxCode)
	bad.text("description", r.Description, false, maxContext)
	if bad.err == nil && r.BaseVersion < 0 {
		bad.err = protocol.Errorf(protocol.CodeInvalid, "baseVersion must be a version's number")
	}
	if bad.err != nil {
		return nil, bad.err
	}
	source, err := s.agentsSource(ctx, c, id)
	if err != nil {
		return nil, err
	}
	verification := s.o.Verifier.Verify(ctx, source.Language, r.Code)
	var resp *SourceResponse
	err = s.agentChange(ctx, c, source.SessionID, func(ctx context.Context, session *Session, now time.Time) (err error) {
		resp, err = s.revise(ctx, session, id, r, &verification, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// revise runs under the session's lock.
func (s *Service) revise(
	ctx context.Context, session *Session, id string, r *UpdateRequest, v *protocol.Verification, now time.Time,
) (*SourceResponse, error) {
	source, err := s.o.Store.Source(ctx, session.UserID, id)
	if err != nil {
		return nil, err
	}
	newest, err := s.o.Store.Version(ctx, source.ID, source.Version)
	if err != nil {
		return nil, err
	}
	if newest.Code != r.Code {
		if r.BaseVersion != 0 && r.BaseVersion != source.Version {
			return nil, &protocol.Error{
				Code: protocol.CodeConflict, Message: "The source has another version than baseVersion",
				Hint: "Read it again (get_source), and send baseVersion with its version",
			}
		}
		newest, err = s.addVersion(ctx, source, newest, &Version{
			Code: r.Code, Description: r.Description, Author: session.AgentIdentifier, Verification: v, CreatedAt: now,
		})
		if err != nil {
			return nil, err
		}
		if err := s.o.Store.SaveSource(ctx, source); err != nil {
			return nil, err
		}
		session.changed(protocol.AgentEventSource, source.ID, now)
	}
	return &SourceResponse{Source: s.showSource(source, newest, session, now)}, nil
}

// addVersion inserts next after current and returns it. The caller saves the source.
func (s *Service) addVersion(ctx context.Context, source *Source, current, next *Version) (*Version, error) {
	if source.Version >= maxVersions {
		return nil, &protocol.Error{
			Code: protocol.CodeConflict, Message: "The source has 1000 versions, which is the limit",
			Hint: "Save the code as a new source",
		}
	}
	before := versionName(source.Version)
	source.Version++
	next.SourceID, next.Number = source.ID, source.Version
	next.Diff = udiff.Unified(before, versionName(source.Version), current.Code, next.Code)
	if next.Verification == nil {
		database.AfterCommit(ctx, s.wakeVerifier)
	}
	return next, s.o.Store.InsertVersion(ctx, next)
}

// DeleteAgentSource deletes a source of the calling agent, with its versions and its
// conversation.
func (s *Service) DeleteAgentSource(ctx context.Context, c Caller, id string) error {
	source, err := s.agentsSource(ctx, c, id)
	if err != nil {
		return err
	}
	return s.agentChange(ctx, c, source.SessionID, func(ctx context.Context, session *Session, now time.Time) error {
		session.changed(protocol.AgentEventSource, id, now)
		return s.o.Store.DeleteSource(ctx, session.UserID, id)
	})
}
