// Package sample has a declaration of every kind that wiregen writes.
package sample

import (
	"encoding/json"
	"time"
)

// Pause is how long a Kind lasts, KindLong aside.
const Pause = 1500 * time.Millisecond

// Sizes.
const (
	// MaxID bounds Item.ID; see Pause.
	MaxID    = 12 << 20
	unseen   = 1
	MaxNames = 1000 // names of an Item
)

// Kind is short.
type Kind string

// Kinds.
const (
	KindShort Kind = "short"
	KindLong  Kind = "long"
)

// Mode has a comment at a member.
type Mode = string

// Modes.
const (
	ModeOne Mode = "one" // not ModeTwo
	ModeTwo Mode = "two"
)

// Item uses ID and Names. Item stays as it is, and so does what this long sentence says until its line is
// broken at 120 columns.
type Item struct {
	ID    string            `json:"id"`
	Names []string          `json:"names,omitempty"` // at most MaxNames
	Kind  Kind              `json:"kind"`
	Mode  Mode              `json:"mode,omitempty"`
	Next  *Item             `json:"next"`
	Maybe *bool             `json:"maybe,omitempty"`
	Raw   json.RawMessage   `json:"raw"`
	Any   map[string]any    `json:"any"`
	At    time.Time         `json:"at"`
	Ends  *time.Time        `json:"ends"`
	Size  int64             `json:"size"`
	Item  map[string][]Item `json:"item"`
	Local string            `json:"-"`
}

// Local never crosses the wire.
type Local struct{ A int }

// Kept never crosses the wire either.
type Kept struct{ a int }
