package agenthost_test

import (
	"slices"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

func TestCommandsOfASessionAreThoseThatItsAgentReportedLast(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options = func(o *agenthost.Options) {
		o.Secrets = func(string) []string { return []string{"a-secret-canary"} }
	}
	r.start()
	r.turn("s1", "t1", writeText("Done"))
	list, err := r.host.Commands("s1")
	if err != nil || list.Problem == "" || list.Commands == nil || len(list.Commands) != 0 {
		t.Errorf("before a report: %+v, %v", list, err)
	}
	report := r.agent.specs[0].ReportCommands
	report([]protocol.Command{
		{Name: "review", Description: "Knows a-secret-canary", Arguments: "[a-secret-canary]"},
		{Name: "/init"},
		{Name: "a b"},
	})
	for range 2 { // a mask of the answer changes nothing that is kept
		list, err = r.host.Commands("s1")
		if err != nil || list.Problem != "" || len(list.Commands) != 2 || list.Commands[0].Name != "init" ||
			list.Commands[1].Description != "Knows [redacted]" || list.Commands[1].Arguments != "[[redacted]]" {
			t.Errorf("%+v, %v", list, err)
		}
	}
	report(nil)
	list, err = r.host.Commands("s1")
	if err != nil || list.Problem != "" || !slices.Equal(list.Commands, []protocol.Command{}) {
		t.Errorf("an agent without commands: %+v, %v", list, err)
	}
	_, err = r.host.Commands("s2")
	r.wantCode("an unknown session", err, protocol.CodeNotFound)
}
