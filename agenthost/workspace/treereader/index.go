package treereader

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
)

// tracked is what git's index says of a path. Its times and sizes are not read, and no flag says what has changed, because
// programs of the session can write them.
type tracked struct {
	path         string // of a directory that a sparse index leaves out: with a slash at its end
	mode         Mode
	id           string // unless all are asked for, only of an entry that can be without a file
	skipWorktree bool
	isHidden     bool // by one of the flags with which git passes over changes
	isUnmerged   bool // a stage of a conflict
	isPresent    bool // the walk has found a file or directory of this path
}

var errIndex = errors.New("the index cannot be read")

// index is a parsed file of an index: version 2 to 4, with the entries in the order of the file.
type index struct {
	entries []tracked
	shared  *sharedLink // of a split index, else nil
}

const (
	indexHeader  = 12
	entryStat    = 40 // bytes of an entry before its id; the mode is at modeOffset
	modeOffset   = 24
	flagExtended = 0x4000
	flagAssumed  = 0x8000
	flagStage    = 0x3000
	flagSkip     = 0x4000 // of the extended flags
)

// parseIndex reads an index, on request with the ids of all entries. Its checksum is not compared: an agent can write it
// too.
func parseIndex(data []byte, hashSize int, withIDs bool) (*index, error) {
	if len(data) < indexHeader+hashSize || string(data[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 || int64(count) > int64(len(data)/(entryStat+hashSize)) {
		return nil, errIndex
	}
	p := indexParser{data: data[:len(data)-hashSize], at: indexHeader, version: version, hashSize: hashSize, withIDs: withIDs}
	parsed := &index{entries: make([]tracked, 0, count)}
	for range count {
		e, ok := p.entry()
		if !ok {
			return nil, errIndex
		}
		parsed.entries = append(parsed.entries, e)
	}
	var ok bool
	if parsed.shared, ok = p.extensions(); !ok {
		return nil, errIndex
	}
	return parsed, nil
}

// sorted returns the entries by path. The stages of a conflict become one entry.
func (x *index) sorted() []tracked {
	byPath := func(a, b tracked) int { return strings.Compare(a.path, b.path) }
	if !slices.IsSortedFunc(x.entries, byPath) {
		slices.SortStableFunc(x.entries, byPath)
	}
	return slices.CompactFunc(x.entries, func(a, b tracked) bool { return a.path == b.path })
}

type indexParser struct {
	data     []byte
	at       int
	version  uint32
	hashSize int
	withIDs  bool
	path     []byte // of the last entry
}

// take returns the next n bytes.
func (p *indexParser) take(n int) ([]byte, bool) {
	if n < 0 || n > len(p.data)-p.at {
		return nil, false
	}
	b := p.data[p.at : p.at+n]
	p.at += n
	return b, true
}

func (p *indexParser) entry() (e tracked, ok bool) {
	start := p.at
	fixed, ok := p.take(entryStat + p.hashSize + 2)
	if !ok {
		return e, false
	}
	e.mode = Mode(binary.BigEndian.Uint32(fixed[modeOffset:]))
	flags := binary.BigEndian.Uint16(fixed[entryStat+p.hashSize:])
	e.isUnmerged = flags&flagStage != 0
	if flags&flagExtended != 0 {
		more, ok := p.take(2)
		if !ok || p.version < 3 {
			return e, false
		}
		e.skipWorktree = binary.BigEndian.Uint16(more)&flagSkip != 0
	}
	e.isHidden = e.skipWorktree || flags&flagAssumed != 0
	if e.skipWorktree || e.mode == ModeCommit || p.withIDs {
		e.id = hex.EncodeToString(fixed[entryStat : entryStat+p.hashSize])
	}
	if !p.readPath(start) {
		return e, false
	}
	e.path = string(p.path)
	return e, true
}

// readPath reads the path of the entry that begins at start. In version 4 it shares the beginning of the path before.
func (p *indexParser) readPath(start int) bool {
	kept := 0
	if p.version == 4 {
		strip, ok := p.offset()
		if !ok || strip > len(p.path) {
			return false
		}
		kept = len(p.path) - strip
	}
	length := bytes.IndexByte(p.data[p.at:], 0)
	if length < 0 || kept+length > maxPath+1 {
		return false
	}
	name, _ := p.take(length + 1)
	p.path = append(p.path[:kept:kept], name[:length]...)
	if p.version < 4 { // one to eight NULs fill the entry
		size := p.at - 1 - start
		p.at = start + (size+8)&^7
	}
	return p.at <= len(p.data)
}

// offset reads git's number of variable length.
func (p *indexParser) offset() (int, bool) {
	value := 0
	for i := range 4 {
		b, ok := p.take(1)
		if !ok {
			return 0, false
		}
		if i > 0 {
			value++
		}
		value = value<<7 | int(b[0]&0x7f)
		if b[0]&0x80 == 0 {
			return value, true
		}
	}
	return 0, false
}

// extensions reads what follows the entries. Only the link to a shared index counts.
func (p *indexParser) extensions() (shared *sharedLink, ok bool) {
	for len(p.data)-p.at >= 8 {
		head, _ := p.take(8)
		body, ok := p.take(int(binary.BigEndian.Uint32(head[4:])))
		if !ok {
			return nil, false
		}
		switch name := string(head[:4]); {
		case name == "link":
			if shared, ok = parseLink(body, p.hashSize); !ok {
				return nil, false
			}
		case name == "sdir": // entries can be directories, which is their mode
		case name[0] < 'A' || name[0] > 'Z': // must be understood, and is not
			return nil, false
		}
	}
	return shared, true
}
