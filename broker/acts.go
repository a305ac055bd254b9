package broker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"time"

	"bellhop/protocol"
)

// ActRow is something that a user has a host do once, however often and however late the request comes.
type ActRow struct {
	TaskID string
	ID     string
	Digest []byte // SHA-256 of what was asked for
	SeenAt time.Time
	Answer string // JSON; "" until the act is done
}

// ActStore stores acts for protocol.ActKept.
type ActStore interface {
	// BeginAct adds an act, or fills in what is stored of it.
	BeginAct(ctx context.Context, act *ActRow) error
	// FinishAct stores the answer of an act; first is false if it had one. It joins the transaction of its context.
	FinishAct(ctx context.Context, act *ActRow) (first bool, err error)
}

type (
	actKey  struct{}
	actSent struct{}
)

// WithActKey returns a context for a request with the key of an act.
func WithActKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, actKey{}, key)
}

// ActSent returns the act that a call to a host belongs to, nil for a call on its own.
func ActSent(ctx context.Context) *ActRow {
	act, _ := ctx.Value(actSent{}).(*ActRow)
	return act
}

// once runs do for the act of a request, unless it was answered: then it returns that answer. finish stores the answer
// with what else the end of the act writes.
func once[R any](
	ctx context.Context, store ActStore, now func() time.Time, taskID, kind string, request any,
	do func(ctx context.Context) (*R, error), finish func(ctx context.Context, act *ActRow) error,
) (*R, error) {
	row, err := beginAct(ctx, store, taskID, kind, request, nowUTC(now))
	if err != nil {
		return nil, err
	}
	done := new(R)
	if row.Answer != "" {
		return done, json.Unmarshal([]byte(row.Answer), done)
	}
	if done, err = do(context.WithValue(ctx, actSent{}, row)); err != nil {
		return nil, err
	}
	answer, err := json.Marshal(done)
	if err != nil {
		return nil, err
	}
	row.Answer = string(answer)
	return done, finish(context.WithoutCancel(ctx), row)
}

// beginAct returns the act of the request in ctx, of a new key if it has none. The kind and the request are what it asks
// for. CodeConflict: the key is that of another act.
func beginAct(ctx context.Context, store ActStore, taskID, kind string, request any, now time.Time) (*ActRow, error) {
	key, _ := ctx.Value(actKey{}).(string)
	if key == "" {
		key = protocol.NewID()
	}
	content, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(append([]byte(kind+"\n"), content...))
	act := &ActRow{TaskID: taskID, ID: key, Digest: digest[:], SeenAt: now}
	if err := store.BeginAct(ctx, act); err != nil {
		return nil, err
	}
	if !bytes.Equal(act.Digest, digest[:]) {
		return nil, &protocol.Error{
			Code: protocol.CodeConflict, Message: "Another request had this " + protocol.HeaderAct,
			Hint: "Give each act a key of its own",
		}
	}
	return act, nil
}
