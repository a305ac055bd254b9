package mockllm

import (
	"io"
	"time"
)

func (s *stream) chat(r *Request, a answer) {
	id := s.server.id("chatcmpl")
	send := func(delta object, finish, usage any) {
		chunk := object{
			"id": id, "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": r.Model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		}
		if usage != nil {
			chunk["usage"] = usage
		}
		s.event("", chunk)
	}
	send(object{"role": "assistant", "content": ""}, nil, nil)
	if !s.each(a.reasoning, func(piece string) { send(object{"reasoning_content": piece}, nil, nil) }) ||
		!s.each(a.text, func(piece string) { send(object{"content": piece}, nil, nil) }) || a.drop {
		return
	}
	finish := "stop"
	for i, c := range a.calls {
		finish = "tool_calls"
		send(object{"tool_calls": []object{{
			"index": i, "id": s.server.id("call"), "type": "function", "function": object{"name": c.name, "arguments": ""},
		}}}, nil, nil)
		if !s.each(chunks(c.arguments()), func(piece string) {
			send(object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}}, nil, nil)
		}) {
			return
		}
	}
	send(object{}, finish, object{"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30})
	_, _ = io.WriteString(s.w, "data: [DONE]\n\n")
	s.flush()
}
