package mockllm

import "time"

// unstreamed returns a response that is not streamed.
func (s *Server) unstreamed(r *Request, a answer) object {
	text := join(a.text)
	switch r.Dialect {
	case Anthropic:
		return s.unstreamedAnthropic(r, a, text)
	case Chat:
		return s.unstreamedChat(r, a, text)
	case Gemini:
		parts := []object{{"text": sideAnswer}}
		for _, c := range a.calls {
			parts = append(parts, object{"functionCall": object{"name": c.name, "args": c.args}})
		}
		return object{
			"candidates":    []object{{"content": object{"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}},
			"usageMetadata": geminiUsage(),
		}
	}
	output := []object{{
		"id": s.id("msg"), "type": "message", "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": text, "annotations": []any{}}},
	}}
	for _, c := range a.calls {
		output = append(output, object{
			"id": s.id("fc"), "type": "function_call", "status": "completed", "call_id": s.id("call"),
			"name": c.name, "arguments": c.arguments(),
		})
	}
	return object{
		"id": s.id("resp"), "object": "response", "created_at": time.Now().Unix(), "model": r.Model, "status": "completed",
		"output": output, "usage": responsesUsage(),
	}
}

func (s *Server) unstreamedAnthropic(r *Request, a answer, text string) object {
	content, stop := []object{}, "end_turn"
	if text != "" {
		content = append(content, object{"type": "text", "text": text})
	}
	for _, c := range a.calls {
		stop = "tool_use"
		content = append(content, object{"type": "tool_use", "id": s.id("toolu"), "name": c.name, "input": c.args})
	}
	return object{
		"id": s.id("msg"), "type": "message", "role": "assistant", "model": r.Model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": object{"input_tokens": 10, "output_tokens": 20},
	}
}

func (s *Server) unstreamedChat(r *Request, a answer, text string) object {
	message, finish := object{"role": "assistant", "content": text}, "stop"
	var calls []object
	for _, c := range a.calls {
		finish = "tool_calls"
		calls = append(calls, object{
			"id": s.id("call"), "type": "function", "function": object{"name": c.name, "arguments": c.arguments()},
		})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	return object{
		"id": s.id("chatcmpl"), "object": "chat.completion", "created": time.Now().Unix(), "model": r.Model,
		"choices": []object{{"index": 0, "finish_reason": finish, "message": message}},
		"usage":   object{"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30},
	}
}
