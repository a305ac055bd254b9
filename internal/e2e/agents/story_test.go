//go:build agents

package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/protocol"
)

const (
	file     = "hello.txt"
	writeIt  = "WRITE " + file
	followUp = "And what did you do before?"
)

func TestATaskWritesAFileInItsOwnCloneAndIsContinuedAfterAKill(t *testing.T) {
	eachAgent(t, func(t *testing.T, d *dev) {
		task := d.task("story")
		turn := d.send(task, writeIt)
		question := turn.question()
		if turn.deltas < 2 {
			t.Errorf("no text was streamed before the question: %v", turn.types)
		}
		d.shows(task, protocol.StatusIdle, protocol.ReasonWaiting, 1)
		dir := d.workspace(task)
		d.nothingWritten(dir)

		d.answers(question, true)
		turn.finishes()
		if content, err := os.ReadFile(filepath.Join(dir, file)); err != nil || len(content) == 0 {
			t.Fatalf("the file has %q (%v)", content, err)
		}
		d.ownClone(dir)
		d.nothingWritten(d.project)
		d.showsDiff(task)
		d.settled(task)
		d.showsTool(task, protocol.ToolDone)
		d.shows(task, protocol.StatusIdle, "", 0)

		d.kill()
		d.start()
		next := d.send(task, followUp)
		next.finishes()
		if next.deltas < 2 {
			t.Errorf("no text was streamed after the kill: %v", next.types)
		}
		if body := d.requestWith(followUp); !strings.Contains(body, writeIt) {
			t.Errorf("the model did not get the earlier conversation: %s", body)
		}
		d.ends(task)
	})
}

func (d *dev) nothingWritten(dir string) {
	d.t.Helper()
	if _, err := os.Lstat(filepath.Join(dir, file)); err == nil {
		d.t.Errorf("%s is in %s", file, dir)
	}
}

// ownClone expects a clone of the project on a branch other than the project's.
func (d *dev) ownClone(dir string) {
	d.t.Helper()
	if branch := d.git(dir, "rev-parse", "--abbrev-ref", "HEAD"); branch == "main" || branch == "HEAD" {
		d.t.Errorf("the session works on %s", branch)
	}
	common, err := filepath.EvalSymlinks(d.git(dir, "rev-parse", "--path-format=absolute", "--git-common-dir"))
	if err != nil {
		d.t.Fatal(err)
	}
	if want, err := filepath.EvalSymlinks(filepath.Join(dir, ".git")); err != nil || common != want {
		d.t.Errorf("the session's repository is %s, not %s (%v)", common, want, err)
	}
	if status := d.git(d.project, "status", "--porcelain"); status != "" {
		d.t.Errorf("the project itself has changed: %s", status)
	}
}

// showsDiff requests the diff as a console does and expects only the file in it.
func (d *dev) showsDiff(task string) {
	d.t.Helper()
	got, err := d.user.Diff(d.t.Context(), task)
	if err != nil || got.Message == nil || len(got.Message.Artifacts) != 1 {
		d.t.Fatalf("diff: %+v, %v", got, err)
	}
	var diff protocol.Diff
	if err := json.Unmarshal(got.Message.Artifacts[0].Content, &diff); err != nil {
		d.t.Fatal(err)
	}
	if len(diff.Files) != 1 || diff.Files[0].Path != file || diff.Files[0].Status != protocol.DiffAdded ||
		!strings.Contains(diff.Patch, "+++ b/"+file) {
		d.t.Errorf("the diff is %+v", diff)
	}
}

// showsTool expects at least one tool of a task and all of them in a state.
func (d *dev) showsTool(task string, want protocol.ToolState) {
	d.t.Helper()
	var tools int
	for _, m := range d.history(task) {
		for _, a := range m.Artifacts {
			if a.Type != protocol.ArtifactToolUse {
				continue
			}
			var use protocol.ToolUse
			if err := json.Unmarshal(a.Content, &use); err != nil {
				d.t.Fatal(err)
			}
			if tools++; use.State != want {
				d.t.Errorf("the tool is %s, not %s: %s", use.State, want, a.Content)
			}
		}
	}
	if tools == 0 {
		d.t.Error("no tool is shown")
	}
}

func (d *dev) history(task string) []protocol.Message {
	d.t.Helper()
	var all []protocol.Message
	for m, err := range d.user.History(d.t.Context(), task) {
		if err != nil {
			d.t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// settled waits until the broker has stored every event of a task.
func (d *dev) settled(task string) {
	d.t.Helper()
	eventually(d.t, "all events have arrived", func() bool {
		got, err := d.user.Task(d.t.Context(), task)
		if err != nil || got.OpenTurn != nil || got.LastTurn == nil {
			return false
		}
		for _, s := range d.status().Sessions {
			if s.ID == task {
				return s.Unacknowledged == 0 && s.OpenTurn == ""
			}
		}
		return false
	})
}

// ends stops both servers and compares what they stored for the tasks.
func (d *dev) ends(tasks ...string) {
	d.t.Helper()
	for _, task := range tasks {
		d.settled(task)
	}
	letters := d.status().DeadLetters
	if len(letters) > 0 {
		d.t.Errorf("the broker refused %+v", letters)
	}
	d.stop()
	for _, task := range tasks {
		d.sameEverywhere(task)
	}
}
