package client

import (
	"encoding/json"
	"slices"

	"bellhop/protocol"
)

// Transcript is the content of a turn so far. The zero value is empty.
type Transcript struct {
	Blocks []*Block
	End    *End // nil while the turn runs

	// Done are the events that the parts completed, in order.
	Done []protocol.PartEvent
}

// BlockKind is the kind of a Block.
type BlockKind string

// The kinds of blocks.
const (
	BlockText      BlockKind = "text"
	BlockReasoning BlockKind = "reasoning"
	BlockTool      BlockKind = "tool"
	BlockAsk       BlockKind = "ask"
)

// Block is a piece of a turn. ID is that of the text, tool call or interaction. It is unique
// only among open blocks: basic hosts reuse ids.
type Block struct {
	Kind  BlockKind
	ID    string
	Text  string // only for text and reasoning
	Done  bool   // no further part changes it
	Tool  *Tool
	Ask   *protocol.Ask
	Event *protocol.PartEvent // for text: the event that persists it
}

// Tool is the use of a tool.
type Tool struct {
	Name       string
	State      ToolState
	Input      json.RawMessage
	Output     json.RawMessage // the result or the error
	ApprovalID string          // id of the permission question
	Call       *protocol.PartEvent
	Result     *protocol.PartEvent
}

// ToolState is the state of a tool's use; ToolWaiting occurs only in streams.
type ToolState = protocol.ToolState

// ToolWaiting means that the user's permission is pending.
const ToolWaiting ToolState = "waiting"

// End is how a turn ended.
type End struct {
	Type         string // finish, abort or error
	FinishReason protocol.FinishReason
	Reason       string // rawFinishReason of a finish, reason of an abort
	Usage        json.RawMessage
	Error        string
	Event        *protocol.PartEvent
}

// Apply adds one event of a stream and returns the block that it changed, or nil. Parts of
// unknown types change nothing.
func (t *Transcript) Apply(event Event) *Block {
	if event.Reset {
		*t = Transcript{}
		return nil
	}
	part := event.Part
	if part == nil {
		return nil
	}
	if part.Event != nil {
		t.Done = append(t.Done, *part.Event)
	}
	switch part.Type {
	case protocol.PartTextStart, protocol.PartTextDelta, protocol.PartTextEnd:
		return t.text(BlockText, part)
	case protocol.PartReasoningStart, protocol.PartReasoningDelta, protocol.PartReasoningEnd:
		return t.text(BlockReasoning, part)
	case protocol.PartToolCall, protocol.PartToolResult, protocol.PartToolError, protocol.PartToolOutputDenied,
		protocol.PartToolApprovalRequest, protocol.PartToolApprovalResponse:
		return t.tool(part)
	case protocol.PartDataAsk:
		return t.ask(part)
	case protocol.PartFinish, protocol.PartAbort, protocol.PartError:
		t.end(part)
	}
	return nil
}

// Text returns the text of the turn, its blocks separated by an empty line.
func (t *Transcript) Text() string {
	text := ""
	for _, b := range t.Blocks {
		if b.Kind != BlockText || b.Text == "" {
			continue
		}
		if text != "" {
			text += "\n\n"
		}
		text += b.Text
	}
	return text
}

func (t *Transcript) add(b *Block) *Block {
	t.Blocks = append(t.Blocks, b)
	return b
}

// open returns the newest block with the id that is not done.
func (t *Transcript) open(kind BlockKind, id string) *Block {
	for _, b := range slices.Backward(t.Blocks) {
		if b.Kind == kind && b.ID == id && !b.Done {
			return b
		}
	}
	return nil
}

func (t *Transcript) text(kind BlockKind, part *protocol.Part) *Block {
	b := t.open(kind, part.ID)
	if b == nil || part.Type == protocol.PartTextStart || part.Type == protocol.PartReasoningStart {
		b = t.add(&Block{Kind: kind, ID: part.ID})
	}
	if part.Text != nil {
		b.Text += *part.Text
	}
	if part.Type == protocol.PartTextEnd || part.Type == protocol.PartReasoningEnd {
		b.Done, b.Event = true, part.Event
	}
	return b
}

func (t *Transcript) tool(part *protocol.Part) *Block {
	id, name, input := part.ToolCallID, part.ToolName, part.Input
	if call := part.ToolCall; call != nil {
		id, name, input = call.ToolCallID, call.ToolName, call.Input
	}
	b := t.open(BlockTool, id)
	if b == nil {
		b = t.add(&Block{Kind: BlockTool, ID: id, Tool: &Tool{State: protocol.ToolRunning}})
	}
	if name != "" {
		b.Tool.Name = name
	}
	if input != nil {
		b.Tool.Input = input
	}
	b.step(part)
	return b
}

// step updates a tool's state.
func (b *Block) step(part *protocol.Part) {
	tool := b.Tool
	switch part.Type {
	case protocol.PartToolCall:
		tool.Call = part.Event
	case protocol.PartToolApprovalRequest:
		tool.State, tool.ApprovalID = ToolWaiting, part.ApprovalID
	case protocol.PartToolApprovalResponse:
		tool.State = protocol.ToolRunning
		if part.Approved != nil && !*part.Approved {
			tool.State = protocol.ToolDenied
		}
	case protocol.PartToolResult:
		tool.State, tool.Output = protocol.ToolDone, part.Output
	case protocol.PartToolError:
		tool.State, tool.Output = protocol.ToolError, part.Error
	case protocol.PartToolOutputDenied:
		tool.State = protocol.ToolDenied
	}
	switch part.Type {
	case protocol.PartToolResult, protocol.PartToolError, protocol.PartToolOutputDenied:
		b.Done, tool.Result = true, part.Event
	}
}

// ask adds a question. The stream does not report its answer; the parts after it follow from
// the answer.
func (t *Transcript) ask(part *protocol.Part) *Block {
	ask := &protocol.Ask{}
	if json.Unmarshal(part.Data, ask) != nil {
		return nil
	}
	return t.add(&Block{Kind: BlockAsk, ID: part.ID, Ask: ask, Event: part.Event})
}

func (t *Transcript) end(part *protocol.Part) {
	t.End = &End{
		Type:         part.Type,
		FinishReason: part.FinishReason,
		Reason:       part.RawFinishReason,
		Usage:        part.TotalUsage,
		Event:        part.Event,
	}
	if part.Type == protocol.PartAbort {
		t.End.Reason = part.Reason
	}
	if part.Type == protocol.PartError {
		t.End.Error = errorText(part.Error)
	}
}

// errorText reads an error part's error: a string or {name,message}.
func errorText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &object) == nil && object.Message != "" {
		return object.Message
	}
	return string(raw)
}
