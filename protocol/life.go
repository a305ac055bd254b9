package protocol

import (
	"crypto/rand"
	"net/url"
	"strings"
	"unicode"
)

// HeaderLife names the life of the agent host that sends a request or an answer.
const HeaderLife = "Bellhop-Life"

// maxLifePart limits Host and ID of a Life, maxPlace its Place.
const (
	maxLifePart = 64
	maxPlace    = 200
)

// Life is one life of an agent host: from a start on its data to the end of the process.
type Life struct {
	Host  string // of the data: copies have it in common. 1 to 64 of [A-Za-z0-9_-]
	ID    string // another at each start; the same form
	Place string // machine and directory, for people; "" = not told
}

// NewLife begins a life of a host.
func NewLife(host, place string) Life { return Life{Host: host, ID: rand.Text(), Place: place} }

// IsZero reports whether the sender told no life.
func (l Life) IsZero() bool { return l.ID == "" }

// Short returns the header without the place, which only brokers are told.
func (l Life) Short() string { return l.Host + "." + l.ID }

// String returns the value of HeaderLife.
func (l Life) String() string {
	if l.Place == "" {
		return l.Short()
	}
	return l.Short() + " " + url.PathEscape(l.Place)
}

// ParseLife returns a zero Life for a header that is none.
func ParseLife(header string) Life {
	name, escaped, _ := strings.Cut(header, " ")
	host, id, _ := strings.Cut(name, ".")
	if !isLifePart(host) || !isLifePart(id) {
		return Life{}
	}
	place, err := url.PathUnescape(escaped)
	if err != nil {
		place = ""
	}
	place = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, SanitizeText(place))
	return Life{Host: host, ID: id, Place: CutText(place, maxPlace)}
}

func isLifePart(s string) bool {
	return s != "" && len(s) <= maxLifePart && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}
