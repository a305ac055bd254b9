package objectpack

import (
	"bufio"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
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

// errSize means that content has another size than its caller has said.
var errSize = errors.New("the content has another size")

// Blob adds content of a size, and returns the id of its object. It reads the content twice, so that it keeps none of it.
func (w *Writer) Blob(content io.ReadSeeker, size int64) (id string, err error) {
	return w.add(blobKind, content, size)
}

// Commit adds a commit in git's own form, and returns its id.
func (w *Writer) Commit(content string) (id string, err error) {
	return w.add(commitKind, strings.NewReader(content), int64(len(content)))
}

// name returns the id of an object.
func (w *Writer) name(k kind, content io.Reader, size int64) (id string, err error) {
	h := w.newHash()
	h.Write([]byte(kindNames[k] + " " + strconv.FormatInt(size, 10) + "\x00"))
	if err := copyAll(h, content, size); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// copyAll copies content, which must have a size.
func copyAll(to io.Writer, content io.Reader, size int64) error {
	n, err := io.Copy(to, content)
	if err != nil {
		return err
	}
	if n != size {
		return errSize
	}
	return nil
}

func (w *Writer) add(k kind, content io.ReadSeeker, size int64) (id string, err error) {
	if id, err = w.name(k, content, size); err != nil {
		return "", err
	}
	if _, ok := w.seen[id]; ok {
		return id, nil
	}
	if w.objects == math.MaxUint32 {
		return "", errors.New("the pack is full")
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	if _, err := w.out.Write(objectHeader(k, size)); err != nil {
		return "", err
	}
	w.deflate.Reset(w.out)
	if err := copyAll(w.deflate, content, size); err != nil {
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
func objectHeader(k kind, size int64) []byte {
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
