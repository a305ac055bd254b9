package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/reseal"
	"bellhop/protocol"
	outboundstore "bellhop/webhook/outbound/store"
)

// SealedColumns returns all columns of the database that hold sealed values.
func SealedColumns() []reseal.Column {
	return slices.Concat(store.SealedColumns(), outboundstore.SealedColumns())
}

// RotateKeys seals everything that is sealed in the database with the primary key of c.Keyset, while
// brokers serve. A run that was interrupted is continued by the next. Each run that has something to do
// adds an entry to the audit log, before its first value. CodeConflict: a value cannot be opened, or a
// broker sealed one with an older key meanwhile.
func RotateKeys(ctx context.Context, c StoreConfig, report func(reseal.Progress)) error {
	return c.withSealed(ctx, func(db *database.DB, st *store.Store, sealer *seal.Sealer) error {
		if err := recordRotation(ctx, db, st, sealer); err != nil {
			return err
		}
		failures, err := reseal.Run(ctx, db, sealer, SealedColumns(), report)
		if err != nil {
			return err
		}
		if len(failures) > 0 {
			all := make([]error, len(failures))
			for i := range failures {
				all[i] = &failures[i]
			}
			return &protocol.Error{
				Code:    protocol.CodeConflict,
				Message: fmt.Sprintf("%d sealed values cannot be opened and stay as they are", len(failures)),
				Hint:    "Set those passwords and secrets again, then repeat the command", Err: errors.Join(all...),
			}
		}
		return checkNoneLeft(ctx, db, sealer)
	})
}

// PruneKeys returns c.Keyset with its primary key alone. CodeConflict: the database has values that
// another key sealed.
func PruneKeys(ctx context.Context, c StoreConfig) (string, error) {
	err := c.withSealed(ctx, func(db *database.DB, _ *store.Store, sealer *seal.Sealer) error {
		return checkNoneLeft(ctx, db, sealer)
	})
	if err != nil {
		return "", err
	}
	return seal.Prune(c.Keyset.Reveal())
}

func checkNoneLeft(ctx context.Context, db *database.DB, sealer *seal.Sealer) error {
	left, err := reseal.Left(ctx, db, sealer, SealedColumns())
	if err != nil || left == 0 {
		return err
	}
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("%d values are sealed with another key than the present one", left),
		Hint: "Start every broker with the promoted keyset, then run 'bellhop keys rotate' (again)",
	}
}

// recordRotation adds the entry of a rotation. The values change in many transactions, so the entry
// comes first: a rotation that is interrupted has one, too.
func recordRotation(ctx context.Context, db *database.DB, st *store.Store, sealer *seal.Sealer) error {
	return broker.Audited(ctx, st, time.Now, func(ctx context.Context) (*broker.Act, error) {
		left, err := reseal.Left(ctx, db, sealer, SealedColumns())
		if err != nil || left == 0 {
			return nil, err
		}
		return &broker.Act{
			Action: protocol.AuditKeysRotated, Subject: protocol.AuditSubject{Kind: protocol.AuditOfKeyset},
			Detail: map[string]string{"values": strconv.Itoa(left)},
		}, nil
	})
}

func (c StoreConfig) withSealed(
	ctx context.Context, do func(*database.DB, *store.Store, *seal.Sealer) error,
) error {
	sealer, err := c.newSealer()
	if err != nil {
		return err
	}
	db, st, err := c.openStore(ctx, sealer)
	if err != nil {
		return err
	}
	return errors.Join(do(db, st, sealer), db.Close())
}

// sessionKeys returns the keys of the installation's sessions.
func (a *Admin) sessionKeys(ctx context.Context) (*broker.SessionKeys, error) {
	root, err := a.Store.SessionKeyRoot(ctx)
	if err != nil {
		return nil, err
	}
	return broker.NewSessionKeys(root), nil
}
