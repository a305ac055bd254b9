package client_test

import (
	"encoding/json"
	"strings"
	"testing"

	"bellhop/client"
	"bellhop/protocol"
)

// show prints a transcript, one line per block.
func show(t *client.Transcript) string {
	var lines []string
	for _, b := range t.Blocks {
		line := string(b.Kind) + " " + b.ID
		switch b.Kind {
		case client.BlockTool:
			line += " " + b.Tool.Name + " " + string(b.Tool.State) + " " + string(b.Tool.Input) + " " + string(b.Tool.Output)
		case client.BlockAsk:
			line += " " + b.Ask.Prompt
		default:
			line += " " + b.Text
		}
		if !b.Done {
			line += " …"
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	if t.End != nil {
		lines = append(lines,
			strings.TrimSpace("end "+t.End.Type+" "+string(t.End.FinishReason)+" "+t.End.Reason+" "+t.End.Error))
	}
	return strings.Join(lines, "\n")
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		parts []string
		want  string
	}{
		{
			"text grows by its deltas",
			[]string{
				`{"type":"text-start","id":"a"}`, `{"type":"text-delta","id":"a","text":"x"}`,
				`{"type":"text-delta","id":"a","text":"y"}`, `{"type":"text-end","id":"a"}`,
			},
			"text a xy",
		},
		{
			"an id that is used again is another text",
			[]string{
				`{"type":"text-start","id":"a"}`, `{"type":"text-delta","id":"a","text":"x"}`, `{"type":"text-end","id":"a"}`,
				`{"type":"text-start","id":"a"}`, `{"type":"text-delta","id":"a","text":"y"}`,
			},
			"text a x\ntext a y …",
		},
		{"a delta without start opens its text", []string{`{"type":"text-delta","id":"a","text":"x"}`}, "text a x …"},
		{
			"texts may interleave",
			[]string{
				`{"type":"text-start","id":"a"}`, `{"type":"reasoning-start","id":"a"}`,
				`{"type":"text-delta","id":"a","text":"x"}`,
				`{"type":"reasoning-delta","id":"a","text":"r"}`, `{"type":"reasoning-end","id":"a"}`,
			},
			"text a x …\nreasoning a r",
		},
		{
			"a tool from call to result",
			[]string{
				`{"type":"tool-call","toolCallId":"c","toolName":"ls","input":{"p":1}}`,
				`{"type":"tool-result","toolCallId":"c","toolName":"ls","output":"f"}`,
			},
			`tool c ls done {"p":1} "f"`,
		},
		{
			"a tool that fails",
			[]string{
				`{"type":"tool-call","toolCallId":"c","toolName":"ls","input":1}`,
				`{"type":"tool-error","toolCallId":"c","error":"no"}`,
			},
			`tool c ls error 1 "no"`,
		},
		{
			"a tool that waits",
			[]string{
				`{"type":"tool-call","toolCallId":"c","toolName":"ls","input":1}`,
				`{"type":"tool-approval-request","approvalId":"i","toolCall":{"type":"tool-call","toolCallId":"c","toolName":"ls","input":1}}`,
			},
			`tool c ls waiting 1  …`,
		},
		{
			"a tool that was allowed",
			[]string{
				`{"type":"tool-approval-request","approvalId":"i","toolCall":{"toolCallId":"c","toolName":"ls","input":1}}`,
				`{"type":"tool-approval-response","approvalId":"i","approved":true,"toolCall":{"toolCallId":"c","toolName":"ls","input":1}}`,
			},
			`tool c ls running 1  …`,
		},
		{
			"a tool that was denied",
			[]string{
				`{"type":"tool-call","toolCallId":"c","toolName":"ls","input":1}`,
				`{"type":"tool-approval-response","approvalId":"i","approved":false,"toolCall":{"toolCallId":"c","toolName":"ls","input":1}}`,
				`{"type":"tool-output-denied","toolCallId":"c","toolName":"ls"}`,
			},
			`tool c ls denied 1`,
		},
		{
			"a tool id that is used again is another use",
			[]string{
				`{"type":"tool-result","toolCallId":"c","output":1}`,
				`{"type":"tool-call","toolCallId":"c","toolName":"ls","input":2}`,
			},
			"tool c  done  1\ntool c ls running 2  …",
		},
		{"a question", []string{`{"type":"data-ask","id":"i","data":{"prompt":"which?"}}`}, "ask i which? …"},
		{"unknown parts change nothing", []string{`{"type":"start-step"}`, `{"type":"data-x","data":1}`}, ""},
		{
			"finish",
			[]string{`{"type":"finish","finishReason":"other","rawFinishReason":"host-restarted"}`},
			"end finish other host-restarted",
		},
		{"abort", []string{`{"type":"abort","reason":"aborted"}`}, "end abort  aborted"},
		{"an error as text", []string{`{"type":"error","error":"boom"}`}, "end error   boom"},
		{"an error as object", []string{`{"type":"error","error":{"name":"E","message":"boom"}}`}, "end error   boom"},
		{
			"a reset drops everything",
			[]string{`{"type":"text-delta","id":"a","text":"x"}`, "reset", `{"type":"text-delta","id":"a","text":"y"}`},
			"text a y …",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var transcript client.Transcript
			for _, raw := range tt.parts {
				if raw == "reset" {
					transcript.Apply(client.Event{Reset: true})
					continue
				}
				part := &protocol.Part{}
				if err := json.Unmarshal([]byte(raw), part); err != nil {
					t.Fatal(err)
				}
				transcript.Apply(client.Event{Part: part})
			}
			if got := show(&transcript); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestTranscriptKeepsTheEventsOfItsParts(t *testing.T) {
	t.Parallel()
	s := newStage(t, sending(closing, start, hello, lo, end, finish))
	stream, err := s.client().Send(t.Context(), &protocol.CheckInRequest{TaskID: "t", Message: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	_, transcript, err := read(stream.Events(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	first, second := protocol.PartEvent{
		ID: "e1", Seq: 1, TurnID: "turn",
	}, protocol.PartEvent{ID: "e2", Seq: 2, TurnID: "turn"}
	if len(transcript.Done) != 2 || transcript.Done[0] != first || transcript.Done[1] != second ||
		*transcript.Blocks[0].Event != first || *transcript.End.Event != second {
		t.Errorf("got %+v", transcript)
	}
}
