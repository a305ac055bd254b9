package main

import (
	"slices"
	"strings"
	"testing"
)

func TestChatSendsThePermissionModeOnce(t *testing.T) {
	broker := startChatBroker(t)
	for _, c := range []struct {
		input string
		args  []string
		code  int
		want  []string
	}{
		{"one\ntwo\n", []string{"--permission-mode", "plan"}, 0, []string{"plan", ""}},
		{"one\n", nil, 0, []string{""}},
		{"", []string{"--permission-mode", "yolo"}, 2, nil},
	} {
		broker.checkIns = nil
		var stdout, stderr strings.Builder
		code := run(t.Context(), nil, broker.chatArgs(c.args...), strings.NewReader(c.input), &stdout, &stderr)
		var modes []string
		for _, req := range broker.checkIns {
			modes = append(modes, string(req.PermissionMode))
		}
		if code != c.code || !slices.Equal(modes, c.want) {
			t.Errorf("%q: exit %d, modes %q\n%s%s", c.args, code, modes, stdout.String(), stderr.String())
		}
	}
}

func TestChatCreatesATaskInAWorkspace(t *testing.T) {
	broker := startChatBroker(t)
	var stdout, stderr strings.Builder
	code := run(t.Context(), nil, broker.chatArgs("--task", "", "--new", "Continue", "--workspace", "fix", "-m", "one"),
		strings.NewReader(""), &stdout, &stderr)
	if code != 0 || len(broker.created) != 1 || broker.created[0].Workspace != "fix" ||
		broker.created[0].Title != "Continue" {
		t.Errorf("exit %d, created %+v\n%s%s", code, broker.created, stdout.String(), stderr.String())
	}
}
