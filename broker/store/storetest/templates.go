package storetest

import (
	"reflect"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

func testTemplates(t *testing.T, s suite) {
	ada, bob := s.user(), s.user()
	add := func(id, owner, name string) broker.Template {
		made := broker.Template{OwnerID: owner, Template: protocol.Template{
			ID: id + ada, CreatedAt: now, UpdatedAt: now, Name: name + ada, Prompt: "Fix {{what}}", Agent: "claude", Model: "m",
			Project: "shop", HostID: "h", Branch: "next", PermissionMode: protocol.ModePlan,
			Variables: []protocol.TemplateVariable{{Name: "what", Choices: []string{"a"}}},
		}}
		s.must(s.store.CreateTemplate(s.ctx, &made))
		return made
	}
	b, a, all := add("1", ada, "b"), add("2", ada, "a"), add("3", "", "a")
	add("4", bob, "a")
	taken := b
	taken.ID = "5" + ada
	s.code(s.store.CreateTemplate(s.ctx, &taken), protocol.CodeConflict)
	taken = all
	taken.ID = "6" + ada
	s.code(s.store.CreateTemplate(s.ctx, &taken), protocol.CodeConflict)
	list := func(owner string, withShared bool, want ...broker.Template) {
		t.Helper()
		found, err := s.store.Templates(s.ctx, owner, withShared)
		s.must(err)
		if !reflect.DeepEqual(found, want) {
			t.Errorf("got  %+v\nwant %+v", found, want)
		}
	}
	list(ada, false, a, b)
	list(ada, true, a, b, all)
	list("", false, all)
	b.Name, b.Variables, b.UpdatedAt = a.Name, []protocol.TemplateVariable{}, now.Add(time.Second)
	s.code(s.store.UpdateTemplate(s.ctx, &b), protocol.CodeConflict)
	b.Name = "c" + ada
	s.must(s.store.UpdateTemplate(s.ctx, &b))
	list(ada, false, a, b)
	s.must(s.store.DeleteTemplate(s.ctx, a.ID))
	s.code(s.store.DeleteTemplate(s.ctx, a.ID), protocol.CodeNotFound)
	s.code(s.store.UpdateTemplate(s.ctx, &a), protocol.CodeNotFound)
	list(ada, false, b)
	s.must(s.store.DeleteTemplate(s.ctx, all.ID))
	_, err := s.store.UpdateUser(s.ctx, ada, erase)
	s.must(err)
	s.must(s.store.EraseUser(s.ctx, ada))
	list(ada, false)
}
