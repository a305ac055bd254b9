package mockllm

// sideAnswer responds to JSON side queries of the Gemini CLI: next speaker, router.
const sideAnswer = `{"reasoning":"mock","next_speaker":"user","model_choice":"flash","complexity_reasoning":"mock","complexity_score":1}`

func geminiUsage() object {
	return object{"promptTokenCount": 10, "candidatesTokenCount": 20, "totalTokenCount": 30}
}

func (s *stream) gemini(r *Request, a answer) {
	send := func(part object, finish string) {
		candidate := object{"content": object{"role": "model", "parts": []object{part}}, "index": 0}
		if finish != "" {
			candidate["finishReason"] = finish
		}
		s.event("", object{
			"candidates": []object{candidate}, "modelVersion": r.Model, "responseId": "mock", "usageMetadata": geminiUsage(),
		})
	}
	if !s.each(a.reasoning, func(piece string) { send(object{"text": "**Thinking** " + piece, "thought": true}, "") }) ||
		!s.each(a.text, func(piece string) { send(object{"text": piece}, "") }) || a.drop {
		return
	}
	for _, c := range a.calls {
		send(object{"functionCall": object{"name": c.name, "args": c.args, "id": s.server.id("call")}}, "")
	}
	send(object{"text": ""}, "STOP")
}
