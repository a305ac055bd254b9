package broker

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"bellhop/crypto/seal"
	"bellhop/crypto/token"
	"bellhop/protocol"
)

// ShareTokenPrefix begins the token of every share link, so that secret scanners and people recognize it.
const ShareTokenPrefix = "bhs_"

// Shares are links to the transcripts of tasks. Who has the token of a link reads the turns that had ended when it
// was made, without secrets, and can do nothing else. A link ends by time, by its owner, and with its task and user.
type Shares struct {
	Store     ShareStore
	Updater   *Updater
	Targets   *Targets
	PublicURL string        // where browsers see the broker
	Secrets   []seal.Secret // of the installation, which are masked like those of hosts
	Now       func() time.Time
	Log       *slog.Logger
}

// Share is a stored share link.
type Share struct {
	ID         string
	UserID     string
	TaskID     string
	Hash       []byte // of the token
	Title      string // of the task when it was shared
	LastSeq    int64  // position of the last message that readers see
	Rev        int64  // of the task when it was shared
	CreatedAt  time.Time
	ExpiresAt  time.Time
	LastUsedAt *time.Time
	TaskTitle  string // filled by reads: the title now
}

// ShareStore is what Shares needs.
type ShareStore interface {
	AuditStore
	TranscriptsStore
	CreateShare(ctx context.Context, s *Share) error
	// Shares returns a user's links that have not expired, the newest first; taskID "" means all tasks.
	Shares(ctx context.Context, userID, taskID string, now time.Time) ([]Share, error)
	// ShareByHash returns CodeNotFound when the task is deleted, or the user is disabled or deleted. It also
	// returns expired links.
	ShareByHash(ctx context.Context, hash []byte) (*Share, error)
	TouchShare(ctx context.Context, id string, at time.Time) error
	// DeleteShare returns CodeNotFound for a link of another user.
	DeleteShare(ctx context.Context, userID, id string) error
	AnyTask(ctx context.Context, id string) (*Task, error)
}

// shareTouch is how exactly the last use of a link is known.
const shareTouch = time.Minute

// Create makes a link to the turns of a task that have ended, and returns its token and URL. CodeInvalid: the life is
// out of range, or no turn has ended; CodeConflict: the user has as many links as they may have.
func (s *Shares) Create(
	ctx context.Context, userID, taskID string, req *protocol.ShareRequest,
) (*protocol.Share, error) {
	life := cmp.Or(req.ExpiresIn, protocol.DefaultShareLife)
	if life < protocol.MinShareLife || life > protocol.MaxShareLife {
		return nil, protocol.Errorf(protocol.CodeInvalid, "expiresIn must be from %d to %d seconds",
			protocol.MinShareLife, protocol.MaxShareLife)
	}
	plain, hash := token.NewOpaque(ShareTokenPrefix)
	var made *Share
	_, err := s.Updater.updateTask(ctx, userID, taskID, func(ctx context.Context, tx *taskTx) error {
		if err := s.checkNumber(ctx, userID, taskID, tx.now); err != nil {
			return err
		}
		last, err := s.lastOfEndedTurns(ctx, tx.task)
		if err != nil {
			return err
		}
		made = &Share{
			ID: protocol.NewID(), UserID: userID, TaskID: taskID, Hash: hash, Title: tx.task.Title, TaskTitle: tx.task.Title,
			LastSeq: last, Rev: tx.task.Rev, CreatedAt: tx.now, ExpiresAt: tx.now.Add(time.Duration(life) * time.Second),
		}
		tx.batch.Audit = append(tx.batch.Audit, shareAct(protocol.AuditShareCreated, made).entry(ActorOf(ctx), tx.now))
		return s.Store.CreateShare(ctx, made)
	})
	if err != nil {
		return nil, err
	}
	view := made.View()
	view.Token, view.URL = plain, strings.TrimRight(s.PublicURL, "/")+"/shared#"+plain
	return view, nil
}

func shareAct(action protocol.AuditAction, s *Share) *Act {
	detail := map[string]string{"share": s.ID}
	if !s.ExpiresAt.IsZero() {
		detail["expires"] = s.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return &Act{Action: action, Subject: protocol.AuditSubject{Kind: protocol.AuditOfTask, ID: s.TaskID}, Detail: detail}
}

func (s *Shares) checkNumber(ctx context.Context, userID, taskID string, now time.Time) error {
	all, err := s.Store.Shares(ctx, userID, "", now)
	if err != nil {
		return err
	}
	ofTask := 0
	for i := range all {
		if all[i].TaskID == taskID {
			ofTask++
		}
	}
	if len(all) < protocol.MaxUserShares && ofTask < protocol.MaxTaskShares {
		return nil
	}
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "There are as many share links as can work at the same time",
		Hint: "Revoke one that is not needed any more",
	}
}

// lastOfEndedTurns returns the position behind which a turn that has not ended has messages. It reads the messages
// backwards, because those of such turns are the newest.
func (s *Shares) lastOfEndedTurns(ctx context.Context, task *Task) (int64, error) {
	last, before := task.LastSeq, task.LastSeq+1
	for {
		page, err := s.Store.Messages(ctx, task.ID, MessageQuery{Before: &before, Limit: maxLimit})
		if err != nil {
			return 0, err
		}
		open, err := s.unended(ctx, task.ID, page)
		if err != nil {
			return 0, err
		}
		first := slices.IndexFunc(page, func(m Message) bool { return slices.Contains(open, m.TurnID) })
		if first >= 0 {
			last = page[first].Seq - 1
		}
		if len(page) < maxLimit || first < 0 {
			break
		}
		before = page[0].Seq
	}
	if last > 0 {
		return last, nil
	}
	return 0, &protocol.Error{
		Code: protocol.CodeInvalid, Message: "There is nothing to share yet: no turn of the task has ended",
		Hint: "Share the task when the agent has answered",
	}
}

// unended returns the ids of the turns of messages that have not ended.
func (s *Shares) unended(ctx context.Context, taskID string, page []Message) ([]string, error) {
	ids := turnsOf(page)
	if len(ids) == 0 {
		return nil, nil
	}
	turns, err := s.Store.Turns(ctx, taskID, ids)
	if err != nil {
		return nil, err
	}
	var open []string
	for i := range turns {
		if turns[i].State != TurnClosed {
			open = append(open, turns[i].ID)
		}
	}
	return open, nil
}

// List returns a user's links that work, the newest first. taskID "" means all tasks. Another user's task is
// CodeNotFound.
func (s *Shares) List(ctx context.Context, userID, taskID string) (*protocol.ShareList, error) {
	if taskID != "" {
		if _, err := s.Store.Task(ctx, userID, taskID); err != nil {
			return nil, err
		}
	}
	found, err := s.Store.Shares(ctx, userID, taskID, nowUTC(s.Now))
	if err != nil {
		return nil, err
	}
	list := &protocol.ShareList{Shares: make([]protocol.Share, len(found))}
	for i := range found {
		list.Shares[i] = *found[i].View()
	}
	return list, nil
}

// Revoke ends a link at once. Another user's link is CodeNotFound.
func (s *Shares) Revoke(ctx context.Context, userID, id string) error {
	return Audited(ctx, s.Store, s.Now, func(ctx context.Context) (*Act, error) {
		found, err := s.Store.Shares(ctx, userID, "", nowUTC(s.Now))
		if err != nil {
			return nil, err
		}
		revoked := &Share{ID: id, UserID: userID}
		for i := range found {
			if found[i].ID == id {
				revoked = &found[i]
			}
		}
		return shareAct(protocol.AuditShareRevoked, revoked), s.Store.DeleteShare(ctx, userID, id)
	})
}

// View returns the link as its owner sees it.
func (s *Share) View() *protocol.Share {
	return &protocol.Share{
		ID: s.ID, TaskID: s.TaskID, TaskTitle: s.TaskTitle, Title: s.Title, CreatedAt: s.CreatedAt.UTC(),
		ExpiresAt: s.ExpiresAt.UTC(), LastUsedAt: s.LastUsedAt,
	}
}
