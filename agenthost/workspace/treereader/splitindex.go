package treereader

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// sharedLink is the extension "link" of a split index: the other entries are in the file sharedindex.<id>, except for
// those whose bits are set here.
type sharedLink struct {
	id       string // "" = there is no shared index
	deleted  bitmap
	replaced bitmap
}

func parseLink(data []byte, hashSize int) (*sharedLink, bool) {
	if len(data) < hashSize {
		return nil, false
	}
	link := &sharedLink{id: hex.EncodeToString(data[:hashSize])}
	if strings.Trim(link.id, "0") == "" {
		link.id = ""
	}
	data = data[hashSize:]
	if len(data) == 0 {
		return link, true
	}
	var ok bool
	if link.deleted, data, ok = parseBitmap(data); !ok {
		return nil, false
	}
	link.replaced, _, ok = parseBitmap(data)
	return link, ok
}

// merge puts the entries of a shared index below those of the split one. The first entries of the split index have no
// path: they replace the entries of the shared index whose bits are set, in their order.
func (x *index) merge(shared *index) bool {
	var merged []tracked
	next := 0
	for i, e := range shared.entries {
		if x.shared.replaced.has(i) {
			if next >= len(x.entries) {
				return false
			}
			path := e.path
			e = x.entries[next]
			if next++; e.path != "" {
				return false
			}
			e.path = path
		}
		if !x.shared.deleted.has(i) {
			merged = append(merged, e)
		}
	}
	x.entries, x.shared = append(merged, x.entries[next:]...), nil
	return true
}

// bitmap is git's EWAH bitmap without its compression.
type bitmap []uint64

func (b bitmap) has(i int) bool { return i/64 < len(b) && b[i/64]>>(i%64)&1 != 0 }

// maxBitmap bounds the words of a bitmap: one bit for each entry of an index of maxIndexFile bytes.
const maxBitmap = maxIndexFile / entryStat / 64

// parseBitmap reads a bitmap from the beginning of data, and returns the rest. A marker word counts repeated words and
// the literal words that follow it.
func parseBitmap(data []byte) (b bitmap, rest []byte, ok bool) {
	if len(data) < 8 {
		return nil, nil, false
	}
	words := int64(binary.BigEndian.Uint32(data[4:]))
	if data = data[8:]; words*8+4 > int64(len(data)) {
		return nil, nil, false
	}
	packed, rest := data[:words*8], data[words*8+4:] // 4: the position of the last marker
	for len(packed) > 0 {
		marker := binary.BigEndian.Uint64(packed)
		packed = packed[8:]
		repeated, literals := marker>>1&(1<<32-1), marker>>33
		if repeated+literals+uint64(len(b)) > maxBitmap || literals > uint64(len(packed)/8) {
			return nil, nil, false
		}
		fill := -(marker & 1) // 0, or all bits
		for range repeated {
			b = append(b, fill)
		}
		for range literals {
			b = append(b, binary.BigEndian.Uint64(packed))
			packed = packed[8:]
		}
	}
	return b, rest, true
}
