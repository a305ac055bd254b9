package uistream

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"bellhop/protocol"
)

// Versions of the AI SDK that a stream can be written for. Version 7 can also read
// a stream for 6.
const (
	V5 = 5 // without approvals, which become data-approval parts
	V6 = 6
	V7 = 7 // with answers to approvals
)

// Done ends a stream.
const Done = "[DONE]"

// Converter converts the parts of one turn. A repeated turn, after a gap or from
// its start, needs a new Converter.
type Converter struct {
	messageID string
	version   int

	started bool
	ended   bool
	stepped bool     // inside a step
	open    []block  // text and reasoning, in order
	inputs  []string // calls whose input is being streamed
	called  map[string]bool
	invalid map[string]bool
	settled map[string]bool
	asked   map[string]*call // by approval id
}

type block struct{ kind, id string }

// New returns a converter for a turn. messageID must be the same for every
// conversion of the turn. version is V5, V6 or V7.
func New(messageID string, version int) *Converter {
	return &Converter{
		messageID: messageID, version: version,
		called: map[string]bool{}, invalid: map[string]bool{}, settled: map[string]bool{}, asked: map[string]*call{},
	}
}

// Convert returns the chunks of a native part as JSON, or none if readers do not
// need the part.
func (c *Converter) Convert(native []byte) ([][]byte, error) {
	var p part
	if err := json.Unmarshal(native, &p); err != nil {
		return nil, err
	}
	chunks := c.convert(&p)
	if len(chunks) > 0 && !c.started {
		c.started = true
		chunks = slices.Insert(chunks, 0, chunk{Type: "start", MessageID: c.messageID})
	}
	out := make([][]byte, len(chunks))
	for i := range chunks {
		encoded, err := protocol.Marshal(&chunks[i])
		if err != nil {
			return nil, err
		}
		out[i] = encoded
	}
	return out, nil
}

// Ended reports whether the end of the turn was converted. Only then may Done be
// sent.
func (c *Converter) Ended() bool { return c.ended }

func (c *Converter) convert(p *part) []chunk {
	kind, what, _ := strings.Cut(p.Type, "-")
	switch {
	case p.Type == "start-step":
		return append(c.endStep(), c.step()...)
	case p.Type == "finish-step":
		return c.endStep()
	case (kind == "text" || kind == "reasoning") && what != "":
		return c.block(kind, what, p)
	case kind == "tool":
		return c.tool(p)
	case p.Type == "source", p.Type == "file":
		return c.attached(p)
	case kind == "data":
		return c.data(p)
	case p.Type == "finish", p.Type == "abort", p.Type == "error":
		return c.end(p)
	default: // start, raw, ping, and newer types
		return nil
	}
}

// inStep adds the start of a step to chunks, unless a step is open.
func (c *Converter) inStep(chunks ...chunk) []chunk {
	return append(c.step(), chunks...)
}

func (c *Converter) step() []chunk {
	if c.stepped {
		return nil
	}
	c.stepped = true
	return []chunk{{Type: "start-step"}}
}

func (c *Converter) endStep() []chunk {
	chunks := c.closeBlocks()
	if c.stepped {
		c.stepped = false
		chunks = append(chunks, chunk{Type: "finish-step"})
	}
	return chunks
}

func (c *Converter) closeBlocks() []chunk {
	var chunks []chunk
	for _, b := range c.open {
		chunks = append(chunks, chunk{Type: b.kind + "-end", ID: b.id})
	}
	c.open = nil
	return chunks
}

func (c *Converter) block(kind, what string, p *part) []chunk {
	b := block{kind, p.ID}
	known := slices.Index(c.open, b)
	var chunks []chunk
	if known < 0 && (what == "start" || what == "delta") {
		c.open = append(c.open, b)
		chunks = c.inStep(chunk{Type: kind + "-start", ID: p.ID})
	}
	switch what {
	case "delta":
		return append(chunks, chunk{Type: p.Type, ID: p.ID, Delta: &p.Text})
	case "end":
		if known < 0 {
			return nil
		}
		c.open = slices.Delete(c.open, known, known+1)
		return []chunk{{Type: p.Type, ID: p.ID}}
	}
	return chunks
}

func (c *Converter) attached(p *part) []chunk {
	switch {
	case p.File != nil:
		data := cmp.Or(p.File.Base64, p.File.Base64Data)
		return c.inStep(chunk{Type: "file", MediaType: p.File.MediaType, URL: "data:" + p.File.MediaType + ";base64," + data})
	case p.SourceType == "url":
		return c.inStep(chunk{Type: "source-url", SourceID: p.ID, URL: p.URL, Title: p.Title})
	case p.SourceType == "document":
		return c.inStep(chunk{
			Type: "source-document", SourceID: p.ID, MediaType: p.MediaType,
			Title: cmp.Or(p.Title, p.Filename, p.ID), Filename: p.Filename,
		})
	}
	return nil
}

// data forwards Bellhop's own parts: questions are persistent data, all others are
// transient.
func (c *Converter) data(p *part) []chunk {
	switch p.Type {
	case "data-ask":
		return c.inStep(chunk{Type: p.Type, ID: p.ID, Data: p.Data})
	case "data-answer":
		return []chunk{{Type: p.Type, ID: p.ID, Data: p.Data}}
	}
	return []chunk{{Type: p.Type, ID: p.ID, Data: p.Data, Transient: true}}
}

func (c *Converter) end(p *part) []chunk {
	c.ended = true
	chunks := c.endStep()
	end := chunk{Type: p.Type}
	switch p.Type {
	case "error":
		end.ErrorText = errorText(p.Error)
	case "abort":
		if c.version > V5 {
			end.Reason = p.Reason
		}
	case "finish":
		if c.version > V5 { // early versions of 5 do not know the reason and reject unknown members
			end.FinishReason = cmp.Or(p.FinishReason, "other")
		}
		if len(p.TotalUsage) > 0 && string(p.TotalUsage) != "{}" {
			end.MessageMetadata = &metadata{Usage: p.TotalUsage}
		}
	}
	return append(chunks, end)
}
