package jsonlines

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tooLong = "<too long>"

// read collects every line; an overlong one appears as tooLong.
func read(t *testing.T, r io.Reader, max int) []string {
	t.Helper()
	lines := []string{}
	for reader := NewReader(r, max); ; {
		line, err := reader.Next()
		switch {
		case err == nil:
			lines = append(lines, string(line))
		case errors.Is(err, ErrTooLong):
			lines = append(lines, tooLong)
		case errors.Is(err, io.EOF):
			return lines
		default:
			t.Fatal(err)
		}
	}
}

func TestReaderSplitsLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for name, c := range map[string]struct {
		in   string
		max  int
		want []string
	}{
		"nothing":                                   {"", 4, []string{}},
		"a line":                                    {"ab\n", 4, []string{"ab"}},
		"a carriage return belongs to the end":      {"ab\r\ncd\r\n", 4, []string{"ab", "cd"}},
		"a carriage return inside stays":            {"a\rb\n", 4, []string{"a\rb"}},
		"an empty line is a line":                   {"\n\na\n", 4, []string{"", "", "a"}},
		"the last line needs no end":                {"a\nb", 4, []string{"a", "b"}},
		"exactly the limit passes":                  {"abcd\nabcd\r\nabcd", 4, []string{"abcd", "abcd", "abcd"}},
		"one byte over is refused, the next passes": {"abcde\nab\n", 4, []string{tooLong, "ab"}},
		"an overlong line is refused once":          {long + "\nab\n", 4, []string{tooLong, "ab"}},
		"an overlong last line is refused":          {"ab\n" + long, 4, []string{"ab", tooLong}},
		"two overlong lines are refused twice":      {long + "\n" + long + "\nz", 4, []string{tooLong, tooLong, "z"}},
		"longer than the buffer, below the limit":   {long + "\n", 200_000, []string{long}},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, r := range map[string]io.Reader{
				"whole":          strings.NewReader(c.in),
				"byte by byte":   iotest.OneByteReader(strings.NewReader(c.in)),
				"error with eof": iotest.DataErrReader(strings.NewReader(c.in)),
			} {
				if got := read(t, r, c.max); !slices.Equal(got, c.want) {
					t.Errorf("%s: got %.80q, want %.80q", kind, got, c.want)
				}
			}
		})
	}
}

func TestReaderReturnsTheStreamsError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 4)
	if line, err := r.Next(); string(line) != "a" || err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
	if _, err := r.Next(); !errors.Is(err, broken) {
		t.Fatalf("half a line before an error: got %v, want %v", err, broken)
	}
}

// filler yields n bytes without a newline.
type filler struct{ n int }

func (f *filler) Read(p []byte) (int, error) {
	if f.n == 0 {
		return 0, io.EOF
	}
	n := min(len(p), f.n)
	for i := range p[:n] {
		p[i] = 'x'
	}
	f.n -= n
	return n, nil
}

func TestReaderMemoryIsBoundedByTheLimit(t *testing.T) { //nolint:paralleltest // counts all allocations
	const limit = 1 << 20
	in := io.MultiReader(&filler{100 << 20}, strings.NewReader("\nnext\n"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lines := read(t, in, limit)
	runtime.ReadMemStats(&after)
	if !slices.Equal(lines, []string{tooLong, "next"}) {
		t.Fatalf("got %.80q", lines)
	}
	// All allocations, including growth steps, stay a small multiple of the limit.
	if got := after.TotalAlloc - before.TotalAlloc; got > 8*limit {
		t.Errorf("100 MiB without a newline allocated %d bytes", got)
	}
}

// counter counts writes and keeps their bytes.
type counter struct {
	writes int
	bytes.Buffer
}

func (c *counter) Write(p []byte) (int, error) {
	c.writes++
	return c.Buffer.Write(p)
}

func TestWriterWritesCompleteLines(t *testing.T) {
	t.Parallel()
	out := &counter{}
	w := NewWriter(out)
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if err := w.Write(map[string]string{"text": "a<b\n&"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if want := strings.Repeat(`{"text":"a<b\n&"}`+"\n", 50); out.String() != want || out.writes != 50 {
		t.Errorf("%d writes: %.200q", out.writes, out.String())
	}
}

func TestWriterErrors(t *testing.T) {
	t.Parallel()
	if err := NewWriter(&counter{}).Write(func() {}); err == nil {
		t.Error("a value that is not JSON was written")
	}
	r, pipe := io.Pipe()
	_ = r.Close()
	if err := NewWriter(pipe).Write(1); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want %v", err, io.ErrClosedPipe)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("{}\n{\"type\":\"input\"}\r\n"), 8)
	f.Add([]byte("\n\r\n\r"), 1)
	f.Add([]byte("abcdefgh\nab\nabcde"), 4)
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		limit = 1 + (limit&0xff+256)%256
		want := []string{}
		rest := in
		for len(rest) > 0 {
			line, after, _ := bytes.Cut(rest, []byte("\n"))
			rest = after
			line = bytes.TrimSuffix(line, []byte("\r"))
			if len(line) > limit {
				line = []byte(tooLong)
			}
			want = append(want, string(line))
		}
		for _, r := range []io.Reader{bytes.NewReader(in), iotest.HalfReader(bytes.NewReader(in))} {
			if got := read(t, r, limit); !slices.Equal(got, want) {
				t.Errorf("limit %d: got %q, want %q", limit, got, want)
			}
		}
	})
}
