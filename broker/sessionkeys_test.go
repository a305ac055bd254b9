package broker_test

import (
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

func TestSessionKeysDependOnRootAndSessionOnly(t *testing.T) {
	t.Parallel()
	keyOf := func(root, session string) string {
		key, err := broker.NewSessionKeys(seal.NewSecret(root)).Key(session)
		if err != nil {
			t.Fatal(err)
		}
		return key.Reveal()
	}
	first := keyOf("root", "s1")
	if !strings.HasPrefix(first, "bhk_") || len(first) != len("bhk_")+43 {
		t.Errorf("the key is %d characters long", len(first))
	}
	if keyOf("root", "s1") != first {
		t.Error("a replica has another key")
	}
	for _, other := range []string{keyOf("root", "s2"), keyOf("root2", "s1"), keyOf("root", "")} {
		if other == first {
			t.Error("another session or broker has the same key")
		}
	}
}

// A list of a host's sessions names no owner of a bound one; the broker asks with its key.
func TestAnOrphanThatIsBoundToAKeyIsAdopted(t *testing.T) {
	t.Parallel()
	k := newRecoveryKit(t)
	k.host.sessions = []protocol.BoundSession{
		{SessionID: "orphan", Title: "Lost", Owner: k.user.UserID, Agent: "demo", Keyed: true, CreatedAt: k.clock.Now()},
	}
	list, err := k.adoption.List(k.ctx, k.user)
	if err != nil || len(list.Orphans) != 1 || list.Orphans[0].Session.Title != "Lost" || list.Orphans[0].Email == "" {
		t.Fatalf("%+v, %v", list, err)
	}
	k.host.foreignKeys = true // the database has lost its keys
	if list, err = k.adoption.List(k.ctx, k.user); err != nil || len(list.Orphans) != 1 ||
		list.Orphans[0].Session.Title != "" {
		t.Errorf("with the wrong keys: %+v, %v", list, err)
	}
	_, err = k.adoption.Adopt(k.ctx, k.user, "orphan", &protocol.AdoptRequest{HostID: k.hostID})
	if protocol.CodeOf(err) != protocol.CodeBadGateway {
		t.Errorf("an adoption without the operator's release: %v", err)
	}
	k.host.foreignKeys = false
	task, err := k.adoption.Adopt(k.ctx, k.user, "orphan", &protocol.AdoptRequest{HostID: k.hostID})
	if err != nil || task.Title != "Lost" {
		t.Errorf("%+v, %v", task, err)
	}
}
