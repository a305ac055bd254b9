package broker_test

import (
	"context"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

// The sessions of a deleted user end at once, also when a host is away, and after 48 hours nothing of
// the user is left.
func TestADeletedUserIsErased(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		root := k.user
		host := k.register("build")
		k.user = k.newUser("eve@example.org", false)
		own := k.session("")
		k.user = root
		kept := k.session(host)
		eve := broker.Caller{UserID: k.ownerOf(own)}

		k.host.down(errDown)
		_, err := k.store.UpdateUser(k.ctx, eve.UserID, func(u *broker.User) error {
			at := k.clock.Now()
			u.DeletedAt, u.Email = &at, u.ID
			return nil
		})
		k.must(err)
		k.upkeep.Prune(k.ctx)
		if _, err := k.tasks.Get(k.ctx, eve.UserID, own, broker.Await{}); protocol.CodeOf(err) != protocol.CodeNotFound {
			t.Errorf("the task: %v", err)
		}
		k.host.down(nil)
		k.round(time.Minute, own)

		k.clock.Advance(48 * time.Hour)
		k.upkeep.Prune(k.ctx)
		if _, err := k.store.User(k.ctx, eve.UserID); protocol.CodeOf(err) != protocol.CodeNotFound {
			t.Errorf("the user: %v", err)
		}
		if _, err := k.tasks.Get(k.ctx, root.UserID, kept, broker.Await{}); err != nil {
			t.Errorf("another user's task: %v", err)
		}
	})
}

func (k *kit) ownerOf(taskID string) (userID string) {
	k.t.Helper()
	task, err := k.store.AnyTask(context.WithoutCancel(k.ctx), taskID)
	k.must(err)
	return task.UserID
}
