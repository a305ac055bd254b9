package protocol

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Object is a checked JSON object, split into its members. A webhook body is checked
// and split once, however its events are read afterwards.
type Object struct{ members []member }

type member struct {
	name  string
	value jsontext.Value
}

// commonMembers is how many members an event has at most, but for unknown ones.
const commonMembers = 16

// SplitObject checks raw like ParseObject and splits it. The members refer to raw.
func SplitObject(raw []byte) (Object, error) {
	if err := ParseObject(raw); err != nil {
		return Object{}, err
	}
	return splitValid(raw), nil
}

// Has reports whether the object has a member of that name, null or not.
func (o Object) Has(name string) bool {
	_, ok := o.get(name)
	return ok
}

// Event reads the object as an event, like ParseEvent.
func (o Object) Event() (*Event, error) {
	r := &eventReader{members: o}
	e := new(Event)
	r.envelope(e)
	if read, known := readers[e.Type]; known {
		r.number("timestamp", &e.Timestamp)
		read(r, e)
	}
	if r.err != nil {
		return nil, r.err
	}
	return e, nil
}

// Batch reads the object as a WebhookBatch. Its events are valid JSON: ParseChecked
// reads them.
func (o Object) Batch() (*WebhookBatch, error) {
	r, b := &eventReader{members: o}, new(WebhookBatch)
	r.str("sessionId", &b.SessionID)
	if list, _ := o.get("events"); r.has("events") {
		if list.Kind() != '[' {
			r.fail("events", "an array")
		} else {
			b.Events = elements(list)
		}
	}
	r.into("prompts", &b.Prompts)
	if r.err != nil {
		return nil, r.err
	}
	return b, nil
}

// ParseChecked is ParseEvent for an element of a Batch, which is not checked again.
func ParseChecked(raw json.RawMessage) (*Event, error) {
	if jsontext.Value(raw).Kind() != '{' {
		return nil, errNotObject()
	}
	return splitValid(raw).Event()
}

// Head has the members that name an event and give its position. Its slices point into the event's bytes.
type Head struct {
	EventID []byte
	Type    []byte
	Epoch   int64
	Seq     int64
}

// ReadHead reads the Head of an event that was checked by ParseEvent before; of other bytes it may
// panic. It allocates nothing. ok is false for an event whose Head only ParseEvent reads.
func ReadHead(raw json.RawMessage) (h Head, ok bool) {
	ok = true
	for i := skipSpace(raw, bytes.IndexByte(raw, '{')+1); raw[i] != '}'; {
		end := stringEnd(raw, i)
		name := raw[i+1 : end-1]
		i = skipSpace(raw, skipSpace(raw, end)+1) // the colon
		end = valueEnd(raw, i)
		switch value := raw[i:end]; string(name) {
		case "eventId":
			h.EventID, ok = plainString(value, ok)
		case "type":
			h.Type, ok = plainString(value, ok)
		case "epoch":
			h.Epoch, ok = plainNumber(value, ok)
		case "seq":
			h.Seq, ok = plainNumber(value, ok)
		default:
			ok = ok && bytes.IndexByte(name, '\\') < 0
		}
		i = nextElement(raw, end)
	}
	return h, ok && len(h.EventID) > 0 && len(h.Type) > 0 && h.Epoch > 0 && h.Seq > 0
}

// plainString returns the characters of a string without escapes.
func plainString(value []byte, before bool) ([]byte, bool) {
	if !before || value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 {
		return nil, false
	}
	return value[1 : len(value)-1], true
}

// plainNumber returns a number of up to 18 digits.
func plainNumber(value []byte, before bool) (n int64, ok bool) {
	if !before || len(value) > 18 {
		return 0, false
	}
	for _, digit := range value {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		n = 10*n + int64(digit-'0')
	}
	return n, true
}

func (o Object) get(name string) (jsontext.Value, bool) {
	for i := range o.members {
		if o.members[i].name == name {
			return o.members[i].value, true
		}
	}
	return nil, false
}

// splitValid splits a valid object.
func splitValid(raw []byte) Object {
	members := make([]member, 0, commonMembers)
	for i := skipSpace(raw, bytes.IndexByte(raw, '{')+1); raw[i] != '}'; {
		end := stringEnd(raw, i)
		name := unquoted(raw[i:end])
		i = skipSpace(raw, skipSpace(raw, end)+1) // the colon
		end = valueEnd(raw, i)
		members = append(members, member{name: name, value: jsontext.Value(raw[i:end])})
		i = nextElement(raw, end)
	}
	return Object{members}
}

// elements splits a valid array.
func elements(raw []byte) []json.RawMessage {
	list := []json.RawMessage{}
	for i := skipSpace(raw, bytes.IndexByte(raw, '[')+1); raw[i] != ']'; {
		end := valueEnd(raw, i)
		list = append(list, json.RawMessage(raw[i:end]))
		i = nextElement(raw, end)
	}
	return list
}

// nextElement returns the start of the element after the one that ends at i, or of
// the closing bracket.
func nextElement(raw []byte, i int) int {
	if i = skipSpace(raw, i); raw[i] == ',' {
		i = skipSpace(raw, i+1)
	}
	return i
}

func unquoted(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	name, _ := jsontext.AppendUnquote(nil, quoted) // valid, so it cannot fail
	return string(name)
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the index after the string that begins at i.
func stringEnd(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// valueEnd returns the index after the value that begins at i.
func valueEnd(raw []byte, i int) int {
	switch raw[i] {
	case '"':
		return stringEnd(raw, i)
	case '{', '[':
		return bracketEnd(raw, i)
	}
	for i < len(raw) && bytes.IndexByte([]byte(",}] \n\t\r"), raw[i]) < 0 {
		i++
	}
	return i
}

func bracketEnd(raw []byte, i int) int {
	for depth := 0; ; {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if i++; depth == 0 {
			return i
		}
	}
}
