package treesnapshot

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path"
	"time"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/owner"
)

// indexEntry is a file in an index of git.
type indexEntry struct {
	path, id  string
	mode      treereader.Mode
	signature treereader.Signature // with which git need not read the file; zero = it reads it
	isSkipped bool                 // a sparse checkout leaves it without a file
}

const (
	indexVersion    = 2
	extendedVersion = 3      // has flags of sparse checkouts
	maxName         = 0xfff  // the longest name whose length an entry has
	flagExtended    = 0x4000 // of the flags: others follow
	flagSkipped     = 0x4000 // of those
)

// WriteIndex makes an index of the snapshot's files for git in the work tree. Git takes a file for unchanged if it still
// has the state that the reader saw. The files have an owner.
func (s *Store) WriteIndex(to string, snapshot *Snapshot, by owner.ID) error {
	entries := make([]indexEntry, len(snapshot.Files))
	for i := range snapshot.Files {
		k := &snapshot.Files[i]
		entries[i] = indexEntry{k.Path, k.ID, k.Mode, k.Signature, snapshot.Skipped[k.Path]}
	}
	if err := writeIndex(to, entries, s.hashSize, by); err != nil {
		return err
	}
	// Git reads files that are not older than the index.
	return os.Chtimes(to, snapshot.began, snapshot.began)
}

// WriteAttributes makes an index with the files of attributes of the snapshot, for git without a work tree.
func (s *Store) WriteAttributes(to string, snapshot *Snapshot) error {
	var entries []indexEntry
	for i := range snapshot.Files {
		if k := &snapshot.Files[i]; path.Base(k.Path) == attributesName && k.Mode != treereader.ModeLink {
			entries = append(entries, indexEntry{path: k.Path, id: k.ID, mode: k.Mode})
		}
	}
	return writeIndex(to, entries, s.hashSize, owner.ID{})
}

// writeIndex makes an index with files in the order of their paths.
func writeIndex(to string, entries []indexEntry, hashSize int, by owner.ID) error {
	version := uint32(indexVersion)
	for i := range entries {
		if entries[i].isSkipped {
			version = extendedVersion
		}
	}
	data := binary.BigEndian.AppendUint32([]byte("DIRC"), version)
	data = binary.BigEndian.AppendUint32(data, uint32(len(entries)))
	for i := range entries {
		var err error
		if data, err = entries[i].append(data, by); err != nil {
			return err
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

func (e *indexEntry) append(data []byte, by owner.ID) ([]byte, error) {
	id, err := hex.DecodeString(e.id)
	if err != nil {
		return nil, err
	}
	start := len(data)
	s := e.signature
	if s.Changed == 0 {
		s, by = treereader.Signature{}, owner.ID{}
	}
	for _, v := range [...]uint32{
		uint32(s.Changed / int64(time.Second)), uint32(s.Changed % int64(time.Second)),
		uint32(s.Modified / int64(time.Second)), uint32(s.Modified % int64(time.Second)),
		uint32(s.Device), uint32(s.Inode), uint32(e.mode), uint32(by.UID), uint32(by.GID), uint32(s.Size),
	} {
		data = binary.BigEndian.AppendUint32(data, v)
	}
	data = append(data, id...)
	flags := uint16(min(len(e.path), maxName))
	if e.isSkipped {
		data = binary.BigEndian.AppendUint16(data, flags|flagExtended)
		data = binary.BigEndian.AppendUint16(data, flagSkipped)
	} else {
		data = binary.BigEndian.AppendUint16(data, flags)
	}
	data = append(data, e.path...)
	for data = append(data, 0); (len(data)-start)%8 != 0; {
		data = append(data, 0)
	}
	return data, nil
}
