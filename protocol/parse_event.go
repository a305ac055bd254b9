package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

var eventIDForm = pattern(`^[A-Za-z0-9_:.-]{1,128}$`)

// ParseEvent parses one webhook event strictly: first ParseObject, then the members
// that protocol section 1.4 gives its type, with their types. Members of other
// types and unknown ones are ignored; of an unknown type only the envelope
// (sessionId, type, eventId, epoch, seq, turnId, timestamp, origin) is read. An optional
// member that is null is absent. Failures are CodeInvalid and name the member.
func ParseEvent(raw []byte) (*Event, error) {
	object, err := SplitObject(raw)
	if err != nil {
		return nil, err
	}
	return object.Event()
}

// readers lists the members of every known type.
var readers = map[EventType]func(*eventReader, *Event){
	EventText: func(r *eventReader, e *Event) {
		r.id("id", &e.ID)
		r.present("text")
		e.Text = new(string)
		r.str("text", e.Text)
		r.str("format", &e.Format)
		r.capped("format", e.Format, MaxID)
		r.object("metadata", &e.Metadata)
	},
	EventToolCall: func(r *eventReader, e *Event) {
		r.id("toolCallId", &e.ToolCallID)
		r.id("toolName", &e.ToolName)
		r.anyValue("input", &e.Input, true)
		r.boolean("truncated", &e.Truncated)
	},
	EventToolResult: func(r *eventReader, e *Event) {
		r.id("toolCallId", &e.ToolCallID)
		r.id("toolName", &e.ToolName)
		r.boolean("isError", &e.IsError)
		r.boolean("denied", &e.Denied)
		r.boolean("truncated", &e.Truncated)
		r.anyValue("output", &e.Output, false) // JSON has no undefined: such an output is absent
	},
	EventFinish: func(r *eventReader, e *Event) {
		oneOf(r, "finishReason", &e.FinishReason,
			FinishStop, FinishLength, FinishContentFilter, FinishToolCalls, FinishError, FinishOther)
		r.str("reason", &e.Reason)
		r.anyValue("totalUsage", &e.TotalUsage, false)
	},
	EventStatus: func(r *eventReader, e *Event) {
		oneOf(r, "status", &e.Status, StatusNone, StatusIdle, StatusBusy)
		r.str("reason", &e.Reason)
	},
	EventInteraction: readInteraction,
	EventError: func(r *eventReader, e *Event) {
		r.required("message", &e.Message)
		r.str("code", &e.Code)
	},
	EventDropped: func(r *eventReader, e *Event) {
		r.required("reason", &e.Reason)
	},
}

func readInteraction(r *eventReader, e *Event) {
	r.id("interactionId", &e.InteractionID)
	oneOf(r, "state", &e.State, InteractionOpen, InteractionResolved, InteractionExpired)
	oneOf(r, "kind", &e.Kind, KindConfirm, KindAsk)
	if e.State == InteractionOpen {
		r.present("prompt")
	}
	r.str("prompt", &e.Prompt)
	r.str("toolCallId", &e.ToolCallID)
	r.capped("toolCallId", e.ToolCallID, MaxID)
	r.str("toolName", &e.ToolName)
	r.capped("toolName", e.ToolName, MaxID)
	r.anyValue("args", &e.Args, false)
	r.str("level", &e.Level)
	r.str("warning", &e.Warning)
	r.str("default", &e.Default)
	r.into("options", &e.Options)
	r.str("expiresAt", &e.ExpiresAt)
	if _, err := time.Parse(time.RFC3339, e.ExpiresAt); e.ExpiresAt != "" && err != nil {
		r.fail("expiresAt", "an RFC 3339 time")
	}
	r.into("answer", &e.Answer)
}

// eventReader reads members one by one and keeps the first failure.
type eventReader struct {
	members Object
	err     error
}

func (r *eventReader) envelope(e *Event) {
	r.required("type", (*string)(&e.Type))
	r.capped("type", string(e.Type), MaxEventID)
	r.str("sessionId", &e.SessionID)
	r.str("turnId", &e.TurnID)
	r.capped("turnId", e.TurnID, MaxTurnID)
	if r.has("eventId") {
		r.str("eventId", &e.EventID)
		if !eventIDForm().MatchString(e.EventID) {
			r.fail("eventId", fmt.Sprintf("1–%d characters of A-Z a-z 0-9 _ : . -", MaxEventID))
		}
	}
	if r.has("epoch") != r.has("seq") {
		r.failWith("epoch and seq come together or not at all")
	}
	r.positive("epoch", &e.Epoch)
	r.positive("seq", &e.Seq)
	if r.has("timestamp") {
		r.number("timestamp", &e.Timestamp)
	}
	if string(r.value("origin")) == `"`+OriginTerminal+`"` { // a basic host may mean something else by this name
		e.Origin = OriginTerminal
	}
}

// has reports whether a member is present and not null.
func (r *eventReader) has(name string) bool {
	value, ok := r.members.get(name)
	return ok && value.Kind() != 'n'
}

func (r *eventReader) value(name string) jsontext.Value {
	value, _ := r.members.get(name)
	return value
}

func (r *eventReader) fail(name, want string) { r.failWith("%s must be %s", name, want) }

func (r *eventReader) failWith(format string, args ...any) {
	if r.err == nil {
		r.err = Errorf(CodeInvalid, format, args...)
	}
}

func (r *eventReader) present(name string) {
	if !r.has(name) {
		r.failWith("%s is required", name)
	}
}

func (r *eventReader) str(name string, dst *string) {
	if !r.has(name) {
		return
	}
	value := r.value(name)
	if value.Kind() != '"' {
		r.fail(name, "a string")
		return
	}
	s, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		r.fail(name, "a string")
	}
	*dst = string(s)
}

func (r *eventReader) required(name string, dst *string) {
	if r.str(name, dst); *dst == "" {
		r.failWith("%s is required", name)
	}
}

func (r *eventReader) id(name string, dst *string) {
	r.required(name, dst)
	r.capped(name, *dst, MaxID)
}

func (r *eventReader) capped(name, value string, most int) {
	if len(value) > most {
		r.failWith("%s is longer than %d bytes", name, most)
	}
}

func (r *eventReader) boolean(name string, dst *bool) {
	if !r.has(name) {
		return
	}
	switch r.value(name).Kind() {
	case 't':
		*dst = true
	case 'f':
	default:
		r.fail(name, "a boolean")
	}
}

func (r *eventReader) number(name string, dst *json.RawMessage) {
	r.present(name)
	if r.has(name) && r.value(name).Kind() != '0' {
		r.fail(name, "a number")
	}
	*dst = json.RawMessage(r.value(name))
}

// positive reads a plain decimal integer from 1 on, without sign, fraction or
// exponent.
func (r *eventReader) positive(name string, dst *int64) {
	if !r.has(name) {
		return
	}
	r.into(name, dst)
	switch {
	case r.value(name).Kind() != '0':
	case *dst < 1:
		r.fail(name, "an integer from 1")
	case *dst > MaxPosition:
		r.fail(name, fmt.Sprintf("at most %d", int64(MaxPosition)))
	}
}

func (r *eventReader) anyValue(name string, dst *json.RawMessage, required bool) {
	value, ok := r.members.get(name)
	if !ok && required {
		r.failWith("%s is required", name)
	}
	*dst = json.RawMessage(value)
}

func (r *eventReader) object(name string, dst *json.RawMessage) {
	if !r.has(name) {
		return
	}
	if r.value(name).Kind() != '{' {
		r.fail(name, "an object")
	}
	*dst = json.RawMessage(r.value(name))
}

func (r *eventReader) into(name string, dst any) {
	if r.err != nil || !r.has(name) {
		return
	}
	r.err = decode(name, r.value(name), dst)
}

func oneOf[T ~string](r *eventReader, name string, dst *T, values ...T) {
	var word string
	r.required(name, &word)
	*dst = T(word)
	if !slices.Contains(values, *dst) {
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = string(v)
		}
		r.fail(name, "one of "+strings.Join(words, ", "))
	}
}
