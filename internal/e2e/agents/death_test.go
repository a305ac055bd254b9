//go:build agents

package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bellhop/protocol"
)

func TestAKilledAgentEndsOnlyItsOwnTurn(t *testing.T) {
	eachAgent(t, func(t *testing.T, d *dev) {
		bystander, victim := d.task("bystander"), d.task("victim")
		other := d.send(bystander, writeIt)
		question := other.question()
		turn := d.send(victim, "SLOW 300") // 30 s: an agent may repeat what its killed program left
		if !turn.until(func(p *protocol.Part) bool { return p.Type == protocol.PartTextDelta }) {
			t.Fatalf("the turn ended at once: %+v", turn.transcript.End)
		}
		d.shows(victim, protocol.StatusBusy, "", 0)

		d.kills(victim, "panic: oh no")
		end := turn.end()
		if end.Type != protocol.PartError || !strings.Contains(end.Error, "panic: oh no") {
			t.Errorf("the turn ended with %+v", end)
		}
		d.shows(victim, protocol.StatusIdle, "", 0)
		d.shows(bystander, protocol.StatusIdle, protocol.ReasonWaiting, 1)
		d.answers(question, true)
		other.finishes()
		if _, err := os.Stat(d.workspace(bystander) + "/" + file); err != nil {
			t.Error(err)
		}
		d.nothingWritten(d.workspace(victim))
		d.send(victim, "Say hello").finishes()
		d.ends(bystander, victim)
	})
}

func TestARestartEndsTheTurnAndTheAgentContinuesItsConversation(t *testing.T) {
	eachAgent(t, func(t *testing.T, d *dev) {
		task := d.task("restart")
		d.send(task, "Say hello").finishes()
		turn := d.send(task, "SLOW 300")
		if !turn.until(func(p *protocol.Part) bool { return p.Type == protocol.PartTextDelta }) {
			t.Fatalf("the turn ended at once: %+v", turn.transcript.End)
		}
		before := d.program(task)
		done, err := d.user.Restart(t.Context(), task)
		if err != nil || done.EndedTurn == "" {
			t.Fatalf("%+v, %v", done, err)
		}
		if end := turn.end(); end.Type != protocol.PartFinish || end.Reason != protocol.ReasonAgentRestarted {
			t.Errorf("the turn ended with %+v", end)
		}
		d.shows(task, protocol.StatusIdle, "", 0)
		d.send(task, followUp).finishes()
		if d.program(task) == before {
			t.Error("the program is the old one")
		}
		if body := d.requestWith(followUp); !strings.Contains(body, "Say hello") {
			t.Errorf("the model did not get the earlier conversation: %s", body)
		}
		d.ends(task)
	})
}

// kills ends the program of a session; the program writes a last line as if it ended by itself.
func (d *dev) kills(session, word string) {
	d.t.Helper()
	pid := confined(d.t, d.program(session))
	stderr, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/2", pid), os.O_WRONLY, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	_, err = fmt.Fprintln(stderr, word)
	if closed := stderr.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// confined returns the process that the sandbox's launchers, which are bellhop, have started.
func confined(t *testing.T, pid int) int {
	t.Helper()
	for {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(filepath.Base(exe), "bellhop") {
			return pid
		}
		lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		if err != nil {
			t.Fatal(err)
		}
		child := 0
		for _, list := range lists {
			if content, err := os.ReadFile(list); err == nil && len(content) > 0 {
				_, err = fmt.Sscan(string(content), &child)
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if child == 0 {
			return pid
		}
		pid = child
	}
}

func TestAKillDuringAQuestionEndsTheTurnForTheReaderAndWritesNothing(t *testing.T) {
	eachAgent(t, func(t *testing.T, d *dev) {
		task := d.task("killed")
		turn := d.send(task, writeIt)
		question := turn.question()
		d.shows(task, protocol.StatusIdle, protocol.ReasonWaiting, 1)
		d.kill()
		d.start()

		// The reader continues where the connection broke.
		if end := turn.end(); end.Type == protocol.PartError || end.Reason != protocol.ReasonHostRestarted {
			t.Errorf("the turn ended with %+v", end)
		}
		d.settled(task)
		if err := d.answer(question, true); protocol.CodeOf(err) != protocol.CodeAnswered {
			t.Errorf("an answer after the kill: %v", err)
		}
		// The text before the kill may be sent with the next prompt, and the scripted model
		// then finds it there.
		next := d.send(task, "Say hello")
		for !next.ended() {
			d.answers(next.asked, false)
		}
		d.shows(task, protocol.StatusIdle, "", 0)
		d.nothingWritten(d.workspace(task))
		d.nothingWritten(d.project)
		d.ends(task)
	})
}
