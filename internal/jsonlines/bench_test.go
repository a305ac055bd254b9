package jsonlines

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"bellhop/protocol"
)

// Reads and parses a text chunk of an agent.
func BenchmarkReadChunks(b *testing.B) {
	text := "a few words of an answer "
	raw, err := json.Marshal(protocol.Line{Type: protocol.LineChunk, SessionID: protocol.NewID(), Content: &text})
	if err != nil {
		b.Fatal(err)
	}
	const count = 1000
	stream := bytes.Repeat(append(raw, '\n'), count)
	b.ReportAllocs()
	b.SetBytes(int64(len(stream)))
	n := 0
	for b.Loop() {
		reader := NewReader(bytes.NewReader(stream), protocol.MaxLine)
		for range count {
			line, err := reader.Next()
			if err == nil {
				_, err = protocol.ParseLine(line)
			}
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "lines/s")
}

func BenchmarkWriteChunks(b *testing.B) {
	text := "a few words of an answer "
	line := protocol.Line{Type: protocol.LineChunk, SessionID: protocol.NewID(), Content: &text}
	w := NewWriter(io.Discard)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if err := w.Write(line); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "lines/s")
}

// Reads an input with an image of 4 MiB; B/op is the total allocation.
func BenchmarkReadALineOf4MiB(b *testing.B) {
	stream := []byte(`{"type":"input","attachments":[{"type":"image","data":"` + strings.Repeat("A", 4<<20) + "\"}]}\n")
	b.ReportAllocs()
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		line, err := NewReader(bytes.NewReader(stream), protocol.MaxLine).Next()
		if err == nil {
			_, err = protocol.ParseLine(line)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
