package broker

import (
	"encoding/json"
	"slices"
	"strings"

	"bellhop/internal/masking"
	"bellhop/protocol"
)

// sharedView reduces rows to what readers of a share link see. What it does not know, it leaves out.
type sharedView struct {
	mask masking.Strict
	rev  int64 // rows that changed after it lose what may have changed
}

// artifactAttachment is the type of the artifacts that keep the names of a message's files.
const artifactAttachment = "ATTACHMENT"

// reduce changes a page in place.
func (v *sharedView) reduce(page *transcriptPage) {
	for i := range page.Messages {
		page.Messages[i] = v.message(&page.Messages[i])
	}
	for i := range page.Turns {
		t := &page.Turns[i]
		page.Turns[i] = protocol.LastTurn{ID: t.ID, FinishReason: t.FinishReason, Reason: v.mask.Text(t.Reason)}
	}
	for i := range page.Interactions {
		page.Interactions[i] = v.question(&page.Interactions[i])
	}
}

func (v *sharedView) message(m *protocol.Message) protocol.Message {
	shown := protocol.Message{
		ID: m.ID, Seq: m.Seq, TurnID: m.TurnID, Role: m.Role, Status: m.Status, Message: v.mask.Text(m.Message),
		Artifacts: []protocol.Artifact{}, CreatedAt: m.CreatedAt, Origin: m.Origin, Metadata: v.sources(m.Metadata),
	}
	for _, a := range m.Artifacts {
		var content any
		switch a.Type {
		case protocol.ArtifactToolUse:
			content = v.toolUse(a.Content, m.Rev > v.rev)
		case protocol.ArtifactDiff:
			content = v.diff(a.Content)
		case artifactAttachment:
			content = v.attachment(a.Content)
		}
		if raw, err := protocol.Marshal(content); err == nil && content != nil {
			shown.Artifacts = append(shown.Artifacts, protocol.Artifact{ID: a.ID, Type: a.Type, Content: raw})
		}
	}
	return shown
}

// toolUse masks input and output. A result that came after the task was shared is left out.
func (v *sharedView) toolUse(content json.RawMessage, isChanged bool) any {
	var use protocol.ToolUse
	if json.Unmarshal(content, &use) != nil {
		return nil
	}
	use.ToolName = v.mask.Text(use.ToolName)
	use.Input, use.Output = v.mask.Value(use.Input, "null"), v.mask.Value(use.Output, "null")
	if isChanged {
		use.Output, use.IsError, use.State, use.EndedAt = json.RawMessage("null"), false, protocol.ToolUnknown, 0
	}
	return use
}

// diff keeps the names and counts of files. The patch has the content of files.
func (v *sharedView) diff(content json.RawMessage) any {
	var diff protocol.Diff
	if json.Unmarshal(content, &diff) != nil {
		return nil
	}
	for i := range diff.Files {
		diff.Files[i].Path, diff.Files[i].OldPath = v.mask.Text(diff.Files[i].Path), v.mask.Text(diff.Files[i].OldPath)
	}
	return protocol.Diff{Files: orNone(diff.Files), Truncated: diff.Truncated, Total: diff.Total}
}

// attachedFile is what history keeps of a file that a user attached.
type attachedFile struct {
	Name      string `json:"name"`
	MediaType string `json:"mediaType"`
	Bytes     int64  `json:"bytes"`
}

func (v *sharedView) attachment(content json.RawMessage) any {
	var file attachedFile
	if json.Unmarshal(content, &file) != nil {
		return nil
	}
	file.Name, file.MediaType = v.mask.Text(file.Name), v.mask.Text(file.MediaType)
	return file
}

// sources keeps the documents that an agent names as the sources of a text.
func (v *sharedView) sources(metadata json.RawMessage) json.RawMessage {
	var all struct {
		Documents json.RawMessage `json:"source_documents,omitempty"`
	}
	if len(metadata) == 0 || json.Unmarshal(metadata, &all) != nil || len(all.Documents) == 0 {
		return nil
	}
	all.Documents = v.mask.Value(all.Documents, "[]")
	raw, err := protocol.Marshal(all)
	if err != nil {
		return nil
	}
	return raw
}

// unansweredReasons are the reasons that a host gives when no user answered.
var unansweredReasons = []string{
	"expired", "interrupted", "turn-ended", "withdrawn", protocol.ReasonHostRestarted, protocol.ReasonHostLost,
	protocol.ReasonAgentExited, protocol.ReasonAgentRestarted, protocol.ReasonAgentStopped,
}

// question keeps whether a question was answered, and leaves out the user or the rule that answered, and the words:
// people answer with what only their agent may know.
func (v *sharedView) question(q *protocol.Interaction) protocol.Interaction {
	shown := protocol.Interaction{
		ID: q.ID, TurnID: q.TurnID, State: q.State, Kind: q.Kind, Prompt: v.mask.Text(q.Prompt), ToolCallID: q.ToolCallID,
		ToolName: v.mask.Text(q.ToolName), Level: q.Level, Warning: v.mask.Text(q.Warning), CreatedAt: q.CreatedAt,
	}
	if q.Answer == nil {
		return shown
	}
	shown.Answer = &protocol.InteractionAnswer{Approved: q.Answer.Approved}
	if reason := strings.TrimSpace(q.Answer.Reason); q.Answer.By == "" && slices.Contains(unansweredReasons, reason) {
		shown.Answer.Reason = reason
	}
	return shown
}
