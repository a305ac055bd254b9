package sse_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"bellhop/internal/sse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEncode(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		frame sse.Frame
		wire  string
	}{
		{
			"all fields",
			sse.Frame{ID: "3-41", Event: "message", Data: []byte(`{"a":1}`)},
			"id: 3-41\nevent: message\ndata: {\"a\":1}\n\n",
		},
		{"only data", sse.Frame{Data: []byte("x")}, "data: x\n\n"},
		{"no data is an empty line of data", sse.Frame{ID: "1"}, "id: 1\ndata: \n\n"},
		{"LF, CR and CRLF split data", sse.Frame{Data: []byte("a\nb\rc\r\nd")}, "data: a\ndata: b\ndata: c\ndata: d\n\n"},
		{
			"a field in data stays data",
			sse.Frame{Data: []byte("x\nevent: y\r\n\r\nid: z")},
			"data: x\ndata: event: y\ndata: \ndata: id: z\n\n",
		},
		{"leading colon and space stay", sse.Frame{Data: []byte(": x\n  y")}, "data: : x\ndata:   y\n\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := sse.Encode(c.frame)
			if err != nil || string(got) != c.wire {
				t.Fatalf("got %q, %v, want %q", got, err, c.wire)
			}
		})
	}
	for _, bad := range []string{"a\nb", "a\rb", "a\x00b", "a\tb", "a\x7f", "a\u0085b", "a\xff"} {
		for _, frame := range []sse.Frame{{ID: bad}, {Event: bad}} {
			dst := []byte("before")
			if got, err := sse.AppendFrame(dst, frame); !errors.Is(err, sse.ErrField) || string(got) != "before" {
				t.Errorf("%+v: %q, %v", frame, got, err)
			}
		}
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, wire string
		frames     []sse.Frame
		err        error
		lastID     string
	}{
		{"an empty stream", "", nil, io.EOF, ""},
		{"LF", "id: 1\nevent: e\ndata: x\n\n", []sse.Frame{{ID: "1", Event: "e", Data: []byte("x")}}, io.EOF, "1"},
		{"CR", "id: 1\rdata: x\r\rdata: y\r\r", []sse.Frame{{ID: "1", Data: []byte("x")}, {Data: []byte("y")}}, io.EOF, "1"},
		{"CRLF", "data: x\r\ndata: y\r\n\r\n", []sse.Frame{{Data: []byte("x\ny")}}, io.EOF, ""},
		{"no space after the colon, two spaces", "data:x\ndata:  y\n\n", []sse.Frame{{Data: []byte("x\n y")}}, io.EOF, ""},
		{"a field without colon", "data\n\n", []sse.Frame{{Data: nil}}, io.EOF, ""},
		{"an empty data line", "data:\n\n", []sse.Frame{{Data: nil}}, io.EOF, ""},
		{"two empty data lines", "data\ndata\n\n", []sse.Frame{{Data: []byte("\n")}}, io.EOF, ""},
		{
			"comments and unknown fields", ": ping\n\nretry: 5\nother: x\n\n:\ndata: x\n: amid\n\n",
			[]sse.Frame{{Data: []byte("x")}},
			io.EOF, "",
		},
		{"a byte order mark", "\ufeffdata: x\n\n", []sse.Frame{{Data: []byte("x")}}, io.EOF, ""},
		{
			"an id belongs only to its own frame", "id: 1\ndata: x\n\ndata: y\n\n",
			[]sse.Frame{{ID: "1", Data: []byte("x")}, {Data: []byte("y")}},
			io.EOF, "1",
		},
		{"an id with NUL is no id", "id: a\x00b\ndata: x\n\n", []sse.Frame{{Data: []byte("x")}}, io.EOF, ""},
		{"an id without data moves LastID", "id: 7\n\n", nil, io.EOF, "7"},
		{"an event without data is dropped", "event: e\n\ndata: x\n\n", []sse.Frame{{Data: []byte("x")}}, io.EOF, ""},
		{"half a line", "data: x\n\ndata: y", []sse.Frame{{Data: []byte("x")}}, io.ErrUnexpectedEOF, ""},
		{"half a frame", "id: 2\ndata: x\n", nil, io.ErrUnexpectedEOF, ""},
		{"an end after a comment", "data: x\n\n: ping\n", []sse.Frame{{Data: []byte("x")}}, io.EOF, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for how, src := range map[string]io.Reader{
				"whole": strings.NewReader(c.wire), "bytewise": iotest.OneByteReader(strings.NewReader(c.wire)),
				"with the last bytes": iotest.DataErrReader(strings.NewReader(c.wire)),
			} {
				r := sse.NewReader(src)
				frames, err := readAll(r)
				if !equal(frames, c.frames) || !errors.Is(err, c.err) || r.LastID() != c.lastID {
					t.Errorf("%s: got %+v, %v, last id %q", how, frames, err, r.LastID())
				}
			}
		})
	}
}

func TestReaderDoesNotWaitForTheLFOfACRLF(t *testing.T) {
	t.Parallel()
	src, dst := io.Pipe()
	go func() { _, _ = dst.Write([]byte("data: x\r\r")) }() // and nothing more
	frame, err := sse.NewReader(src).Next()
	if err != nil || string(frame.Data) != "x" {
		t.Fatalf("%+v, %v", frame, err)
	}
	_ = src.Close()
}

func TestReaderRefusesFramesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	line := "data: " + strings.Repeat("x", 1<<20) + "\n"
	for name, src := range map[string]io.Reader{
		"one endless line":  io.MultiReader(strings.NewReader("data: "), endless{'x'}),
		"one endless frame": io.MultiReader(strings.NewReader(strings.Repeat(line, 9)), endless{'\n'}),
	} {
		t.Run(name, func(t *testing.T) {
			r := sse.NewReader(src)
			for range 2 { // the error is permanent
				if _, err := r.Next(); !errors.Is(err, sse.ErrFrameTooLarge) {
					t.Fatal(err)
				}
			}
		})
	}
	r := sse.NewReader(strings.NewReader(strings.Repeat(line, 7) + "\n"))
	if frame, err := r.Next(); err != nil || len(frame.Data) != 7<<20+6 {
		t.Fatalf("%d bytes, %v", len(frame.Data), err)
	}
	pings := strings.Repeat(":"+strings.Repeat("p", 1<<20)+"\n", 9)
	if frame, err := sse.NewReader(strings.NewReader(pings + "data: x\n\n")).Next(); err != nil ||
		string(frame.Data) != "x" {
		t.Fatalf("comments must not count: %v", err)
	}
}

func TestReaderReportsBytesOfComments(t *testing.T) {
	t.Parallel()
	r, calls := sse.NewReader(strings.NewReader(": ping\n\n")), 0
	r.OnBytes = func() { calls++ }
	if _, err := r.Next(); !errors.Is(err, io.EOF) || calls == 0 {
		t.Fatalf("%v, %d calls", err, calls)
	}
}

func TestEncodedFramesParseToTheSameFrame(t *testing.T) {
	t.Parallel()
	text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\r\n: dataidevent\x00"))))
	rapid.Check(t, func(t *rapid.T) {
		frames := rapid.SliceOf(rapid.Custom(func(t *rapid.T) sse.Frame {
			return sse.Frame{ID: text.Draw(t, "id"), Event: text.Draw(t, "event"), Data: []byte(text.Draw(t, "data"))}
		})).Draw(t, "frames")
		var wire []byte
		var want []sse.Frame
		for _, frame := range frames {
			encoded, err := sse.AppendFrame(wire, frame)
			if errors.Is(err, sse.ErrField) {
				continue
			}
			wire = encoded
			want = append(want, normal(frame))
			if rapid.Bool().Draw(t, "ping") {
				wire = append(wire, sse.Ping...)
			}
		}
		cuts := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 50).Draw(t, "cuts")
		got, err := readAll(sse.NewReader(&cutReader{data: wire, cuts: cuts}))
		if !errors.Is(err, io.EOF) || !equal(got, want) {
			t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
		}
	})
}

func FuzzCodec(f *testing.F) {
	f.Add("3-41", "message", []byte("a\r\nb\rc\nd"), byte(1))
	f.Add("", "", []byte("event: x\n\n: y"), byte(3))
	f.Fuzz(func(t *testing.T, id, event string, data []byte, cut byte) {
		frame := sse.Frame{ID: id, Event: event, Data: data}
		wire, err := sse.Encode(frame)
		if err != nil {
			return
		}
		src := &cutReader{data: append(wire, wire...), cuts: []int{int(cut) + 1}}
		got, err := readAll(sse.NewReader(src))
		if !errors.Is(err, io.EOF) || !equal(got, []sse.Frame{normal(frame), normal(frame)}) {
			t.Fatalf("%q became %+v, %v", wire, got, err)
		}
	})
}

// Any bytes yield the same frames however they are split into reads, and every frame can be
// encoded again.
func FuzzReader(f *testing.F) {
	f.Add([]byte("id: 1\r\ndata: x\r\n\r\n: ping\n\ndata:y\n\n"), byte(2))
	f.Add([]byte("\ufeffdata\rdata\r\rdata: half"), byte(0))
	f.Fuzz(func(t *testing.T, wire []byte, cut byte) {
		unsplit, unsplitErr := readAll(sse.NewReader(bytes.NewReader(wire)))
		pieces, err := readAll(sse.NewReader(&cutReader{data: wire, cuts: []int{int(cut) + 1}}))
		if !equal(unsplit, pieces) || !errors.Is(err, unsplitErr) {
			t.Fatalf("whole %+v, %v; in pieces %+v, %v", unsplit, unsplitErr, pieces, err)
		}
		for _, frame := range unsplit {
			encoded, err := sse.Encode(frame)
			if err != nil {
				continue // a control character that other servers may send
			}
			if again, err := sse.NewReader(bytes.NewReader(encoded)).Next(); err != nil ||
				!equal([]sse.Frame{again}, []sse.Frame{frame}) {
				t.Fatalf("%+v became %+v, %v", frame, again, err)
			}
		}
	})
}

func readAll(r *sse.Reader) (frames []sse.Frame, err error) {
	for {
		frame, err := r.Next()
		if err != nil {
			return frames, err
		}
		frames = append(frames, frame)
	}
}

func equal(a, b []sse.Frame) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].ID != b[i].ID || a[i].Event != b[i].Event || !bytes.Equal(a[i].Data, b[i].Data) {
			return false
		}
	}
	return true
}

// normal returns a frame as a reader returns it.
func normal(f sse.Frame) sse.Frame {
	f.Data = bytes.ReplaceAll(bytes.ReplaceAll(f.Data, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	return f
}

type cutReader struct {
	data []byte
	cuts []int
	n    int
}

func (r *cutReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	n := min(r.cuts[r.n%len(r.cuts)], len(r.data), len(p))
	r.n++
	copy(p, r.data[:n])
	r.data = r.data[n:]
	return n, nil
}

type endless struct{ b byte }

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.b
	}
	return len(p), nil
}
