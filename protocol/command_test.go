package protocol_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"bellhop/protocol"
)

func TestCommandsAreCleaned(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", protocol.MaxCommandText)
	got := protocol.CleanCommands([]protocol.Command{
		{Name: "/review", Description: "Reviews\n  a\x00change", Arguments: "[branch]"},
		{Name: "init", Description: long},
		{Name: "init", Description: "another of this name"},
		{Name: "two words"},
		{Name: "new\nline"},
		{Name: "/"},
		{Name: strings.Repeat("n", protocol.MaxCommandName+1)},
	})
	want := []protocol.Command{
		{Name: "init", Description: long[:protocol.MaxCommandText]},
		{Name: "review", Description: "Reviews a\uFFFDchange", Arguments: "[branch]"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := protocol.CleanCommands(nil); got == nil || len(got) != 0 {
		t.Errorf("no commands: %#v", got)
	}
	many := make([]protocol.Command, protocol.MaxCommands+1)
	for i := range many {
		many[i].Name = fmt.Sprint("c", i)
	}
	if got := protocol.CleanCommands(many); len(got) != protocol.MaxCommands {
		t.Errorf("%d commands", len(got))
	}
}

func TestAMessageThatBeginsWithASlashNamesACommand(t *testing.T) {
	t.Parallel()
	for message, want := range map[string][2]string{
		"/review":              {"review", ""},
		"/review the last one": {"review", "the last one"},
		"/review\nthis\nthat ": {"review", "this\nthat"},
		"/mcp:ask x":           {"mcp:ask", "x"},
	} {
		name, arguments, ok := protocol.CommandOf(message)
		if !ok || name != want[0] || arguments != want[1] {
			t.Errorf("%q: %q, %q, %t", message, name, arguments, ok)
		}
	}
	for _, message := range []string{"", "/", "/ review", " /review", "see /review"} {
		if name, _, ok := protocol.CommandOf(message); ok {
			t.Errorf("%q: %q", message, name)
		}
	}
}
