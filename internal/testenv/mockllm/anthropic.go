package mockllm

func (s *stream) anthropic(r *Request, a answer) {
	s.event("message_start", object{"type": "message_start", "message": object{
		"id": s.server.id("msg"), "type": "message", "role": "assistant", "model": r.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": object{
			"input_tokens": 10, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
		},
	}})
	index := 0
	block := func(start object, pieces []string, delta func(string) object) bool {
		s.event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": start})
		if !s.each(pieces, func(piece string) {
			s.event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": delta(piece)})
		}) || a.drop {
			return false
		}
		s.event("content_block_stop", object{"type": "content_block_stop", "index": index})
		index++
		return true
	}
	if len(a.reasoning) > 0 &&
		!block(object{"type": "thinking", "thinking": "", "signature": ""},
			append(a.reasoning, ""), func(piece string) object {
				if piece == "" {
					return object{"type": "signature_delta", "signature": "bW9jaw=="}
				}
				return object{"type": "thinking_delta", "thinking": piece}
			}) {
		return
	}
	if len(a.text) > 0 && !block(object{"type": "text", "text": ""}, a.text, func(piece string) object {
		return object{"type": "text_delta", "text": piece}
	}) || a.drop {
		return
	}
	stop := "end_turn"
	for _, c := range a.calls {
		stop = "tool_use"
		if !block(object{"type": "tool_use", "id": s.server.id("toolu"), "name": c.name, "input": object{}},
			chunks(c.arguments()), func(piece string) object {
				return object{"type": "input_json_delta", "partial_json": piece}
			}) {
			return
		}
	}
	s.event("message_delta", object{
		"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil},
		"usage": object{"output_tokens": 20},
	})
	s.event("message_stop", object{"type": "message_stop"})
}
