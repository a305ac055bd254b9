package treesnapshot

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
)

// indexEntry is a file in an index of git.
type indexEntry struct{ path, id string }

const (
	indexVersion = 2
	statSize     = 40 // times, device, inode, mode, owner and size of an entry
	modeAt       = 24
	maxName      = 0xfff // the longest name whose length an entry has
)

// writeIndex makes an index with regular files, in the order of their paths. Their times are zero, so that git reads
// each file.
func writeIndex(to string, entries []indexEntry, hashSize int) error {
	data := binary.BigEndian.AppendUint32([]byte("DIRC"), indexVersion)
	data = binary.BigEndian.AppendUint32(data, uint32(len(entries)))
	for _, e := range entries {
		stat := make([]byte, statSize)
		binary.BigEndian.PutUint32(stat[modeAt:], 0o100644)
		id, err := hex.DecodeString(e.id)
		if err != nil {
			return err
		}
		start := len(data)
		data = append(append(data, stat...), id...)
		data = binary.BigEndian.AppendUint16(data, uint16(min(len(e.path), maxName)))
		data = append(data, e.path...)
		for data = append(data, 0); (len(data)-start)%8 != 0; {
			data = append(data, 0)
		}
	}
	if hashSize == sha256.Size {
		sum := sha256.Sum256(data)
		data = append(data, sum[:]...)
	} else {
		sum := sha1.Sum(data)
		data = append(data, sum[:]...)
	}
	return os.WriteFile(to, data, 0o600)
}
