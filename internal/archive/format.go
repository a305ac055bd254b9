package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"bellhop/protocol"
)

// format is the version of the file's form. It changes when a reader of before would misread a file.
const format = 1

// maxLine is the longest line: a row has at most one event, whose size the broker limits.
const maxLine = 64 << 20

// line is a line of an archive. Exactly one member is set: Archive on the first, End on the last. The
// rows after a User are those of that user.
type line struct {
	Archive *header        `json:"archive,omitempty"`
	User    string         `json:"user,omitempty"` // e-mail address
	Table   string         `json:"table,omitempty"`
	Row     map[string]any `json:"row,omitempty"` // by column; times are RFC 3339, in UTC
	End     *end           `json:"end,omitempty"`
}

type header struct {
	Format  int       `json:"format"`
	Schema  int64     `json:"schema"` // the newest migration of the database
	Version string    `json:"version"`
	At      time.Time `json:"at"`
}

// end proves that a file is whole.
type end struct {
	Lines  int    `json:"lines"`  // before this one
	SHA256 string `json:"sha256"` // of them
}

type writer struct {
	out   *bufio.Writer
	sum   hash.Hash
	lines int
}

func newWriter(w io.Writer) *writer {
	sum := sha256.New()
	return &writer{out: bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<20), sum: sum}
}

func (w *writer) write(l *line) error {
	raw, err := protocol.Marshal(l)
	if err != nil {
		return err
	}
	w.lines++
	_, err = w.out.Write(append(raw, '\n'))
	return err
}

func (w *writer) close() error {
	if err := w.out.Flush(); err != nil {
		return err
	}
	last := &end{Lines: w.lines, SHA256: hex.EncodeToString(w.sum.Sum(nil))}
	if err := w.write(&line{End: last}); err != nil {
		return err
	}
	return w.out.Flush()
}

// read calls use with each line between the first and the last, and its number. schema is that of the
// database. Errors have CodeInvalid when the file is not an archive, is damaged or is of another version.
func read(r io.Reader, schema int64, use func(number int, l *line) error) error {
	in, sum := bufio.NewReaderSize(r, 1<<20), sha256.New()
	for number := 1; ; number++ {
		raw, err := readLine(in)
		if err != nil {
			return damaged(number, err)
		}
		var l line
		if err := decode(raw, &l); err != nil {
			return damaged(number, err)
		}
		switch {
		case number == 1:
			if err := l.Archive.check(schema); err != nil {
				return err
			}
		case l.End != nil:
			return l.End.check(number, sum, in)
		default:
			if err := use(number, &l); err != nil {
				return err
			}
		}
		sum.Write(raw)
	}
}

func (h *header) check(schema int64) error {
	switch {
	case h == nil:
		return protocol.Errorf(protocol.CodeInvalid, "The file is not an archive: its first line has no header")
	case h.Format != format:
		return protocol.Errorf(protocol.CodeInvalid, "The archive has format %d, this bellhop reads format %d",
			h.Format, format)
	case h.Schema != schema:
		return &protocol.Error{
			Code: protocol.CodeInvalid,
			Message: fmt.Sprintf("The archive is of a database at version %d (bellhop %s), this one is at version %d",
				h.Schema, h.Version, schema),
			Hint: "Upgrade the older installation, then export again",
		}
	}
	return nil
}

func (e *end) check(number int, sum hash.Hash, rest *bufio.Reader) error {
	if e.Lines != number-1 || e.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
		return damaged(number, errors.New("the checksum is that of another content"))
	}
	if _, err := rest.ReadByte(); !errors.Is(err, io.EOF) {
		return damaged(number+1, errors.New("nothing may follow the end"))
	}
	return nil
}

func damaged(number int, err error) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("the file ends before its last line")
	}
	return &protocol.Error{
		Code: protocol.CodeInvalid, Message: fmt.Sprintf("The archive is damaged at line %d: %v", number, err),
		Hint: "Copy the file or export again; nothing was imported", Err: err,
	}
}

// readLine returns a line with its end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var all []byte
	for {
		part, err := in.ReadSlice('\n')
		all = append(all, part...)
		switch {
		case err == nil:
			return all, nil
		case len(all) > maxLine:
			return nil, fmt.Errorf("it is longer than %d bytes", maxLine)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func decode(raw []byte, l *line) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	return decoder.Decode(l)
}
