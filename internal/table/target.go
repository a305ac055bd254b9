package table

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"bellhop/protocol"
)

// encode leaves <, > and & as they are. What cannot be encoded becomes a value
// that fails when it is bound.
func encode(v any) any {
	raw, err := protocol.Marshal(v)
	if err != nil {
		return unencodable{err}
	}
	return string(raw)
}

type unencodable struct{ err error }

// Value implements driver.Valuer.
func (u unencodable) Value() (driver.Value, error) { return nil, u.err }

// The targets are pointers in a struct, so that making one allocates nothing.

type jsonTarget[V any] struct{ to *V }

// Scan implements sql.Scanner.
func (t jsonTarget[V]) Scan(src any) error {
	text, err := textOf(src)
	if err != nil || len(text) == 0 {
		return err
	}
	return json.Unmarshal(text, t.to)
}

// listTarget is jsonTarget for a list. It decodes nothing for one without elements,
// as most are.
type listTarget[E any] struct{ to *[]E }

// Scan implements sql.Scanner.
func (t listTarget[E]) Scan(src any) error {
	if src == "[]" {
		*t.to = []E{}
		return nil
	}
	return jsonTarget[[]E](t).Scan(src)
}

type textBytes[B ~[]byte] struct{ to *B }

// Scan implements sql.Scanner.
func (t textBytes[B]) Scan(src any) error {
	text, err := textOf(src)
	*t.to = bytes.Clone(text)
	return err
}

type optionalText[S ~string] struct{ to *S }

// Scan implements sql.Scanner.
func (t optionalText[S]) Scan(src any) error {
	text, err := textOf(src)
	*t.to = S(text)
	return err
}

func textOf(src any) ([]byte, error) {
	switch v := src.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(v), nil
	case []byte:
		return v, nil
	default:
		return nil, fmt.Errorf("%T is not text", src)
	}
}

type utcTime struct{ to *time.Time }

// Scan implements sql.Scanner.
func (t utcTime) Scan(src any) error {
	v, ok := src.(time.Time)
	if !ok {
		return fmt.Errorf("%T is not a time", src)
	}
	*t.to = v.UTC()
	return nil
}

type optionalTime struct{ to **time.Time }

// Scan implements sql.Scanner.
func (t optionalTime) Scan(src any) error {
	if src == nil {
		*t.to = nil
		return nil
	}
	*t.to = new(time.Time)
	return utcTime{*t.to}.Scan(src)
}
