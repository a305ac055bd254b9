package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"bellhop/internal/private"
	"bellhop/protocol"
)

// Sizes of a recording: the newest files of at most maxFile bytes are kept. A single
// longer line has a file of its own.
const (
	maxFile  = 64 << 20
	maxFiles = 4
)

// format is the version of the lines that Writer writes. Recordings with a lower one were made before 0.1.0.
const format = 2

// FileName is the name of a recording in a directory.
const FileName = "recording.jsonl"

// header is the first line of a run of the host, and of each further file of the run.
type header struct {
	Format  int       `json:"recording"`
	Bellhop string    `json:"bellhop"` // version
	At      time.Time `json:"at"`
	Part    int       `json:"part"` // of the run, from 1
}

// Options configure a Writer.
type Options struct {
	Path    string           // a file, or a directory, which gets FileName
	Version string           // of the program
	Now     func() time.Time // nil: time.Now
	Log     *slog.Logger     // nil: discarded

	maxFile int64 // 0: maxFile; tests set it
}

// Writer appends inputs to a recording. Its methods may be called concurrently.
type Writer struct {
	options Options
	path    string

	mu   sync.Mutex
	file *os.File // nil: closed, or given up
	size int64
	part int
	line bytes.Buffer
}

// Create opens a recording for another run of the host: it appends to an existing file,
// which only the user can read.
func Create(o Options) (*Writer, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.maxFile == 0 {
		o.maxFile = maxFile
	}
	w := &Writer{options: o, path: filePath(o.Path)}
	if err := os.MkdirAll(filepath.Dir(w.path), 0o700); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if err := w.open(); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if err := w.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("record: %w", err), w.Close())
	}
	return w, nil
}

// filePath returns the newest file of the recording at path.
func filePath(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() || strings.HasSuffix(path, string(filepath.Separator)) {
		return filepath.Join(path, FileName)
	}
	return path
}

// Record appends an input: the JSON of a core.Recorded. If the file cannot be written,
// it logs the error and records nothing more: a host works without its recording.
func (w *Writer) Record(sessionID string, entry json.RawMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return
	}
	if err := w.append(sessionID, entry); err != nil {
		w.options.Log.Error("the recording ends: its file cannot be written", "file", w.path, "err", err)
		_ = w.file.Close()
		w.file = nil
	}
}

// append writes the line in one call, so that the file ends between two lines if the
// process is killed. The operating system writes it to disk later.
func (w *Writer) append(sessionID string, entry json.RawMessage) error {
	id, err := protocol.Marshal(sessionID)
	if err != nil {
		return err
	}
	w.line.Reset()
	w.line.WriteString(`{"session":`)
	w.line.Write(id)
	w.line.WriteByte(',')
	w.line.Write(bytes.TrimPrefix(entry, []byte("{")))
	w.line.WriteByte('\n')
	if w.size > 0 && w.size+int64(w.line.Len()) > w.options.maxFile {
		if err := w.rotate(); err != nil {
			return err
		}
	}
	return w.write(w.line.Bytes())
}

func (w *Writer) write(line []byte) error {
	n, err := w.file.Write(line)
	w.size += int64(n)
	return err
}

// open opens the newest file and ends a line that a crash of the machine cut off.
func (w *Writer) open() error {
	if err := private.File(w.path); err != nil {
		return err
	}
	file, err := os.OpenFile(w.path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	w.file, w.size = file, info.Size()
	last := []byte{'\n'}
	if w.size > 0 {
		if _, err := file.ReadAt(last, w.size-1); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	if last[0] != '\n' {
		return w.write([]byte{'\n'})
	}
	return nil
}

// begin writes the header of the run's next part.
func (w *Writer) begin() error {
	w.part++
	line, err := protocol.Marshal(header{
		Format: format, Bellhop: w.options.Version, At: w.options.Now().UTC(), Part: w.part,
	})
	if err != nil {
		return err
	}
	return w.write(append(line, '\n'))
}

// rotate renames the file to .1, the files before it accordingly, and begins another.
func (w *Writer) rotate() error {
	if err := w.file.Close(); err != nil {
		return err
	}
	for n := maxFiles - 1; n > 0; n-- {
		if err := os.Rename(partPath(w.path, n-1), partPath(w.path, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := w.open(); err != nil {
		return err
	}
	return w.begin()
}

// partPath returns the n-th file before the newest.
func partPath(path string, n int) string {
	if n == 0 {
		return path
	}
	return path + "." + strconv.Itoa(n)
}

// Path returns the newest file of the recording.
func (w *Writer) Path() string { return w.path }

// Close ends the recording. Later inputs are ignored. A nil Writer is allowed.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}
