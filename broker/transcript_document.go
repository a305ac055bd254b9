package broker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"bellhop/internal/markdown"
	"bellhop/internal/masking"
	"bellhop/protocol"
)

// document writes a transcript as Markdown, page by page. Texts of users and agents cannot change what stands
// around them.
type document struct {
	title  string
	at     time.Time // when the task was created, or shared
	shared bool
	facts  [][2]string     // about the task; those without a value are left out
	mask   *masking.Strict // nil: nothing is masked
	read   func(ctx context.Context, after int64) (*transcriptPage, error)
	out    io.Writer

	w         *bufio.Writer
	turn      string                 // of the last message; "" before the first
	endings   map[string]string      // of the present turn and those of the page, in words
	questions []protocol.Interaction // of the present turn that are not written yet
	asked     map[string]bool        // turns whose questions were taken
	closed    map[string]bool        // turns whose ending is written
	answering bool                   // the heading of the agent's answer is written
}

// write reads all pages. It calls begin once the first page is there.
func (d *document) write(ctx context.Context, begin func()) error {
	page, err := d.read(ctx, 0)
	if err != nil {
		return err
	}
	begin()
	d.w, d.asked, d.closed = bufio.NewWriter(d.out), map[string]bool{}, map[string]bool{}
	d.head()
	for len(page.Messages) > 0 {
		d.page(page)
		if err := d.w.Flush(); err != nil {
			return err
		}
		if page, err = d.read(ctx, page.next); err != nil {
			return err
		}
	}
	d.endTurn()
	return d.w.Flush()
}

func (d *document) printf(format string, args ...any) { _, _ = fmt.Fprintf(d.w, format, args...) }

func (d *document) text(text string) string {
	if d.mask == nil {
		return text
	}
	return d.mask.Text(text)
}

func (d *document) head() {
	d.printf("# %s\n\n", markdown.Line(d.text(d.title)))
	for _, fact := range d.facts {
		if fact[1] != "" {
			d.printf("- %s: %s\n", fact[0], markdown.Line(d.text(fact[1])))
		}
	}
	what := "Created"
	if d.shared {
		what = "Shared"
	}
	d.printf("- %s: %s\n", what, timeText(d.at))
	if d.shared || d.mask != nil {
		d.printf("- Secrets are masked.\n")
	}
}

func timeText(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }

func (d *document) page(page *transcriptPage) {
	d.endings = map[string]string{d.turn: d.endings[d.turn]}
	for i := range page.Turns {
		d.endings[page.Turns[i].ID] = endingText(&page.Turns[i])
	}
	for i := range page.Messages {
		m := &page.Messages[i]
		if m.TurnID != d.turn {
			d.endTurn()
			d.turn, d.answering = m.TurnID, false
			d.questions = nil
		}
		d.addQuestions(page.Interactions)
		d.message(m)
	}
}

// addQuestions takes the questions of the present turn, once.
func (d *document) addQuestions(all []protocol.Interaction) {
	if d.turn == "" || d.asked[d.turn] {
		return
	}
	d.asked[d.turn] = true
	for i := range all {
		if all[i].TurnID == d.turn {
			d.questions = append(d.questions, all[i])
		}
	}
}

// endTurn writes the questions of the present turn that belong to no message, and how it ended.
func (d *document) endTurn() {
	if d.turn == "" || d.closed[d.turn] {
		return
	}
	d.closed[d.turn] = true
	for i := range d.questions {
		d.question(&d.questions[i])
	}
	d.questions = nil
	if ending := d.endings[d.turn]; ending != "" {
		d.printf("\n*%s*\n", markdown.Line(d.text(ending)))
	}
}

func (d *document) message(m *protocol.Message) {
	if m.Role == protocol.RoleUser {
		d.printf("\n---\n\n## User, %s\n", timeText(m.CreatedAt))
		if m.Status == protocol.MessageError {
			d.printf("\nNot delivered.\n")
		}
	} else {
		d.questionsBefore(m.CreatedAt)
		if !d.answering {
			d.printf("\n## Agent, %s\n", timeText(m.CreatedAt))
			d.answering = true
		}
	}
	if m.Message != "" {
		d.printf("\n%s", markdown.Quote(d.text(m.Message)))
	}
	for _, a := range m.Artifacts {
		d.artifact(a)
	}
}

// questionsBefore writes the free questions that were asked before a time.
func (d *document) questionsBefore(at time.Time) {
	d.questions = slices.DeleteFunc(d.questions, func(q protocol.Interaction) bool {
		isDue := q.Kind == protocol.KindAsk && q.CreatedAt.Before(at)
		if isDue {
			d.question(&q)
		}
		return isDue
	})
}

func (d *document) artifact(a protocol.Artifact) {
	switch a.Type {
	case protocol.ArtifactToolUse:
		var use protocol.ToolUse
		if json.Unmarshal(a.Content, &use) == nil {
			d.toolUse(&use)
		}
	case protocol.ArtifactDiff:
		var diff protocol.Diff
		if json.Unmarshal(a.Content, &diff) == nil {
			d.diff(&diff)
		}
	case artifactAttachment:
		var file attachedFile
		if json.Unmarshal(a.Content, &file) == nil {
			d.printf("\nAttached: %s\n", markdown.Line(d.text(file.Name)))
		}
	}
}
