package uistream_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost/api/uistream"
)

func convert(t *testing.T, version int, parts ...string) []string {
	t.Helper()
	c := uistream.New("m", version)
	var out []string
	for _, p := range parts {
		chunks, err := c.Convert([]byte(p))
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		for _, chunk := range chunks {
			out = append(out, string(chunk))
		}
	}
	return out
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	scanner := bufio.NewScanner(bytes.NewReader(raw))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		out = append(out, scanner.Text())
	}
	return out
}

// plain returns a chunk without random ids and without Bellhop's own additions.
func plain(t *testing.T, raw string) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	for _, name := range []string{"dynamic", "providerExecuted", "messageMetadata", "messageId", "approvalId"} {
		delete(m, name)
	}
	if id, ok := m["id"].(string); ok && strings.HasPrefix(id, "aitxt-") {
		m["id"] = "random"
	}
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// twice is the chunk that version 5 of the SDK repeats for an invalid call.
const twice = `"tool-output-error","toolCallId":"call-3"`

// This package converts parts as three versions of the SDK do, except for the two
// marks on tools and the usage.
func TestStreamsOfTheSDKAreConvertedAlike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		version int
		before  []string // the turn that the recording continues
		skip    int      // number of chunks of that turn
	}{
		{name: "v5.turn1", version: uistream.V5},
		{name: "v6.turn1", version: uistream.V6},
		{name: "v7.turn1", version: uistream.V7},
		{
			name: "v6.approve-true", version: uistream.V6,
			before: []string{`{"type":"tool-call","toolCallId":"call-5","toolName":"bash"}`, `{"type":"finish-step"}`},
			skip:   4,
		},
		{
			name: "v7.approve-false", version: uistream.V7,
			before: []string{`{"type":"tool-call","toolCallId":"call-5","toolName":"bash"}`, `{"type":"finish-step"}`},
			skip:   4,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := convert(t, c.version, append(c.before, lines(t, filepath.Join("testdata", c.name+".parts.jsonl"))...)...)
			got = append([]string{`{"type":"start"}`}, got[max(1, c.skip):]...)
			var want []string
			for _, line := range lines(t, filepath.Join("testdata", c.name+".ui.sse")) {
				if data, ok := strings.CutPrefix(line, "data: "); ok && data != uistream.Done && !strings.Contains(data, twice) {
					want = append(want, plain(t, data))
				}
			}
			for i := range got {
				got[i] = plain(t, got[i])
			}
			if c.version == uistream.V5 { // early readers of version 5 reject the reason
				want[len(want)-1] = strings.ReplaceAll(want[len(want)-1], `"finishReason":"stop",`, "")
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestConvert(t *testing.T) {
	t.Parallel()
	const (
		tool     = `,"dynamic":true,"providerExecuted":true`
		start    = `{"type":"start","messageId":"m"} {"type":"start-step"} `
		request  = `{"type":"tool-approval-request","approvalId":"a","toolCall":{"type":"tool-call","toolCallId":"c","toolName":"Bash","input":{"x":1}},"event":{"id":"e","seq":1,"turnId":"t"}}`
		approved = `{"type":"tool-approval-response","approvalId":"a","approved":true,"toolCall":{}}`
		denied   = `{"type":"tool-output-denied","toolCallId":"c","toolName":"Bash"}`
		input    = `{"type":"tool-input-available","toolCallId":"c","toolName":"Bash","input":{"x":1}` + tool + `} `
	)
	for _, c := range []struct {
		name    string
		version int
		parts   []string
		want    string
	}{
		{
			"a delta without its opener gets one, an open text its end", uistream.V6,
			[]string{`{"type":"text-delta","id":"a","text":"<b>"}`, `{"type":"finish","finishReason":"stop","totalUsage":{}}`},
			start +
				`{"type":"text-start","id":"a"} {"type":"text-delta","id":"a","delta":"<b>"} {"type":"text-end","id":"a"} {"type":"finish-step"} {"type":"finish","finishReason":"stop"}`,
		},
		{
			"a result without its call gets one, and counts once", uistream.V6,
			[]string{
				`{"type":"tool-result","toolCallId":"c","toolName":"Bash"}`,
				`{"type":"tool-error","toolCallId":"c","error":"late"}`,
			},
			start + `{"type":"tool-input-available","toolCallId":"c","toolName":"Bash","input":{}` + tool +
				`} {"type":"tool-output-available","toolCallId":"c","output":null` + tool + `}`,
		},
		{"an end without its opener is nothing", uistream.V6, []string{`{"type":"text-end","id":"a"}`}, ``},
		{
			"parts of later days are nothing", uistream.V6,
			[]string{`{"type":"hologram","id":"a"}`, `{"type":"ping"}`, `{"type":"tool-dance"}`},
			``,
		},
		{
			"version 7 hears of the answer to an approval", uistream.V7,
			[]string{request, request, approved},
			start + input +
				`{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"} {"type":"tool-approval-response","approvalId":"a","approved":true}`,
		},
		{
			"version 6 hears of a denial by its result", uistream.V6,
			[]string{request, `{"type":"tool-approval-response","approvalId":"a","approved":false}`, denied},
			start + input +
				`{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"} {"type":"tool-output-denied","toolCallId":"c"}`,
		},
		{
			"version 5 has data parts for approvals", uistream.V5,
			[]string{request, approved, denied},
			start + input +
				`{"type":"data-approval","id":"a","data":{"input":{"x":1},"state":"open","toolCallId":"c","toolName":"Bash"}} ` +
				`{"type":"data-approval","id":"a","data":{"approved":true,"input":{"x":1},"reason":"","state":"resolved","toolCallId":"c","toolName":"Bash"}} ` +
				`{"type":"tool-output-error","toolCallId":"c"` + tool + `,"errorText":"Denied"}`,
		},
		{
			"a resume comes behind the start and is not kept", uistream.V6,
			[]string{`{"type":"data-resume","data":{"verdict":"gap"}}`},
			`{"type":"start","messageId":"m"} {"type":"data-resume","data":{"verdict":"gap"},"transient":true}`,
		},
		{
			"a question stays", uistream.V6,
			[]string{
				`{"type":"data-ask","id":"i","data":{"prompt":"?"},"event":{"id":"e","seq":1,"turnId":"t"}}`,
				`{"type":"data-answer","id":"i","data":{"state":"resolved"}}`,
			},
			start +
				`{"type":"data-ask","id":"i","data":{"prompt":"?"}} {"type":"data-answer","id":"i","data":{"state":"resolved"}}`,
		},
		{
			"an error has words", uistream.V6,
			[]string{`{"type":"error","error":{"name":"Error","message":"kaboom"}}`},
			`{"type":"start","messageId":"m"} {"type":"error","errorText":"kaboom"}`,
		},
		{
			"version 5 gets no members that it refuses", uistream.V5,
			[]string{
				`{"type":"abort","reason":"aborted"}`, `{"type":"finish","finishReason":"stop","totalUsage":{"inputTokens":1}}`,
			},
			`{"type":"start","messageId":"m"} {"type":"abort"} {"type":"finish","messageMetadata":{"usage":{"inputTokens":1}}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(convert(t, c.version, c.parts...), " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
