package uistream_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost/api/uistream"
	"bellhop/protocol"
)

var update = flag.Bool("update", false, "write the chunks that the converter returns into testdata/corpus")

// A corpusCase is also read by the TypeScript client's tests
// (web/client/test/unit/corpus.test.ts), so neither converter can change alone.
type corpusCase struct {
	Name   string            `json:"name"`
	Parts  []json.RawMessage `json:"parts"`
	Chunks chunkLists        `json:"chunks"`
	Client *override         `json:"client,omitempty"`
}

// An override has the chunks of the TypeScript converter for the versions for which
// they differ on purpose.
type override struct {
	Why    string     `json:"why"`
	Chunks chunkLists `json:"chunks"`
}

// chunkLists has the chunks by version of the AI SDK: "v5", "v6 v7", "v5 v6 v7".
type chunkLists map[string][]json.RawMessage

var sdkVersions = []int{uistream.V5, uistream.V6, uistream.V7}

func (l chunkLists) of(version int) []json.RawMessage {
	for names, chunks := range l {
		if slices.Contains(strings.Fields(names), fmt.Sprint("v", version)) {
			return chunks
		}
	}
	return nil
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	for _, path := range corpusFiles(t) {
		cases := readCorpus(t, path)
		for i, c := range cases {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".json")+"/"+c.Name, func(t *testing.T) {
				got := map[int][]string{}
				for _, version := range sdkVersions {
					got[version] = convert(t, version, texts(c.Parts)...)
					if want := texts(c.Chunks.of(version)); !*update && !equalJSON(t, got[version], want) {
						t.Errorf("v%d: got\n%s\nwant\n%s", version, strings.Join(got[version], "\n"), strings.Join(want, "\n"))
					}
				}
				cases[i].Chunks = grouped(got)
			})
		}
		if *update {
			writeCorpus(t, path, cases)
		}
	}
}

// The corpus must contain every part that Bellhop's hosts send.
func TestCorpusCoversEveryPart(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, path := range corpusFiles(t) {
		for _, c := range readCorpus(t, path) {
			for _, raw := range c.Parts {
				var p protocol.Part
				if err := json.Unmarshal(raw, &p); err != nil {
					t.Fatal(err)
				}
				seen[p.Type] = true
			}
		}
	}
	for _, kind := range []protocol.PartType{
		protocol.PartTextStart, protocol.PartTextDelta, protocol.PartTextEnd,
		protocol.PartReasoningStart, protocol.PartReasoningDelta, protocol.PartReasoningEnd,
		protocol.PartToolCall, protocol.PartToolResult, protocol.PartToolError, protocol.PartToolOutputDenied,
		protocol.PartToolApprovalRequest, protocol.PartToolApprovalResponse,
		protocol.PartDataAsk, protocol.PartDataAnswer, protocol.PartDataNotice, protocol.PartDataQueued,
		protocol.PartDataContextRestored, protocol.PartDataResume,
		protocol.PartFinish, protocol.PartAbort, protocol.PartError,
	} {
		if !seen[kind] {
			t.Errorf("no case has a %s part", kind)
		}
	}
}

func corpusFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/corpus/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	return files
}

func readCorpus(t *testing.T, path string) []corpusCase {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []corpusCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return cases
}

// grouped merges versions with the same chunks.
func grouped(got map[int][]string) chunkLists {
	names := map[string]string{}
	for _, version := range sdkVersions {
		key := strings.Join(got[version], "\n")
		names[key] = strings.TrimSpace(names[key] + fmt.Sprint(" v", version))
	}
	lists := chunkLists{}
	for _, version := range sdkVersions {
		chunks := make([]json.RawMessage, len(got[version]))
		for i, chunk := range got[version] {
			chunks[i] = json.RawMessage(chunk)
		}
		lists[names[strings.Join(got[version], "\n")]] = chunks
	}
	return lists
}

// writeCorpus writes every part and every chunk on its own line.
func writeCorpus(t *testing.T, path string, cases []corpusCase) {
	t.Helper()
	var out strings.Builder
	for i, c := range cases {
		fmt.Fprintf(&out, "%s{\n  \"name\": %s,\n  \"parts\": %s,\n  \"chunks\": %s",
			separator(i, "["), quoted(t, c.Name), list(c.Parts, "  "), lists(c.Chunks, "  "))
		if c.Client != nil {
			fmt.Fprintf(&out, ",\n  \"client\": {\n    \"why\": %s,\n    \"chunks\": %s\n  }",
				quoted(t, c.Client.Why), lists(c.Client.Chunks, "    "))
		}
		out.WriteString("\n}")
	}
	out.WriteString("]\n")
	if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func separator(i int, first string) string {
	if i == 0 {
		return first
	}
	return ", "
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	out, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func lists(l chunkLists, indent string) string {
	var out strings.Builder
	for i, names := range slices.Sorted(maps.Keys(l)) {
		fmt.Fprintf(&out, "%s\n%s  %q: %s", strings.TrimSpace(separator(i, "{")), indent, names, list(l[names], indent+"  "))
	}
	return out.String() + "\n" + indent + "}"
}

func list(values []json.RawMessage, indent string) string {
	if len(values) == 0 {
		return "[]"
	}
	between := "\n" + indent + "  "
	return "[" + between + strings.Join(texts(values), ","+between) + "\n" + indent + "]"
}

func texts(raw []json.RawMessage) []string {
	out := make([]string, len(raw))
	for i := range raw {
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw[i]); err != nil {
			panic(err) // the value was decoded before
		}
		out[i] = compact.String()
	}
	return out
}

func equalJSON(t *testing.T, got, want []string) bool {
	t.Helper()
	decode := func(list []string) []any {
		out := make([]any, len(list))
		for i := range list {
			if err := json.Unmarshal([]byte(list[i]), &out[i]); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	return reflect.DeepEqual(decode(got), decode(want))
}
