package objectpack

import (
	"bufio"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"strconv"
)

// kind is the type of an object, with its number in a pack.
type kind byte

const (
	commitKind kind = 1
	treeKind   kind = 2
	blobKind   kind = 3
)

var kindNames = map[kind]string{commitKind: "commit", treeKind: "tree", blobKind: "blob"}

// level trades size for time: most objects are read once or twice.
const level = zlib.BestSpeed

// Writer writes a pack. An object that the pack has already is not written again.
type Writer struct {
	file    *os.File
	out     *bufio.Writer
	deflate *zlib.Writer
	newHash func() hash.Hash
	objects uint32
	seen    map[string]struct{}
}

// New begins a pack in an empty file. hashSize is that of the repository's ids: 20 or 32 bytes.
func New(file *os.File, hashSize int) (*Writer, error) {
	w := &Writer{file: file, out: bufio.NewWriterSize(file, 256<<10), seen: map[string]struct{}{}, newHash: sha1.New}
	if hashSize == sha256.Size {
		w.newHash = sha256.New
	}
	var err error
	if w.deflate, err = zlib.NewWriterLevel(w.out, level); err != nil {
		return nil, err
	}
	_, err = w.out.Write(header(0)) // Close knows the number of objects
	return w, err
}

func header(objects uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), objects)
}

// errShort means that content has another size than its caller has said.
var errShort = errors.New("the content has another size")

// Blob adds content of a size, and returns the id of its object.
func (w *Writer) Blob(content io.Reader, size int64) (id string, err error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(content, data); err != nil {
		return "", fmt.Errorf("%w: %w", errShort, err)
	}
	return w.add(blobKind, data)
}

// Commit adds a commit in git's own form, and returns its id.
func (w *Writer) Commit(content string) (id string, err error) {
	return w.add(commitKind, []byte(content))
}

// name returns the id of an object.
func (w *Writer) name(k kind, data []byte) string {
	h := w.newHash()
	h.Write([]byte(kindNames[k] + " " + strconv.Itoa(len(data)) + "\x00"))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

func (w *Writer) add(k kind, data []byte) (id string, err error) {
	id = w.name(k, data)
	if _, ok := w.seen[id]; ok {
		return id, nil
	}
	if w.objects == math.MaxUint32 {
		return "", errors.New("the pack is full")
	}
	if _, err := w.out.Write(objectHeader(k, len(data))); err != nil {
		return "", err
	}
	w.deflate.Reset(w.out)
	if _, err := w.deflate.Write(data); err != nil {
		return "", err
	}
	if err := w.deflate.Close(); err != nil {
		return "", err
	}
	w.objects++
	w.seen[id] = struct{}{}
	return id, nil
}

// objectHeader has the type and the size: four bits beside the type, then seven in each byte.
func objectHeader(k kind, size int) []byte {
	b := []byte{byte(k)<<4 | byte(size&0xf)}
	for size >>= 4; size > 0; size >>= 7 {
		b[len(b)-1] |= 0x80
		b = append(b, byte(size&0x7f))
	}
	return b
}

// Objects returns how many objects the pack has.
func (w *Writer) Objects() int { return int(w.objects) }

// Close ends the pack: its header gets the number of objects, and its end the checksum. The file stays open.
func (w *Writer) Close() error {
	if err := w.out.Flush(); err != nil {
		return err
	}
	if _, err := w.file.WriteAt(header(w.objects), 0); err != nil {
		return err
	}
	if _, err := w.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	h := w.newHash()
	if _, err := io.Copy(h, w.file); err != nil {
		return err
	}
	_, err := w.file.Write(h.Sum(nil))
	return err
}
