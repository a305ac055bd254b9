package mockllm

import "time"

// responder numbers the events of one response and collects its items.
type responder struct {
	*stream
	number int
	items  []any
}

func (o *responder) send(kind string, event object) {
	event["type"], event["sequence_number"] = kind, o.number
	o.number++
	o.event(kind, event)
}

func (s *stream) responses(r *Request, a answer) {
	o := &responder{stream: s}
	base := object{
		"id": s.server.id("resp"), "object": "response", "created_at": time.Now().Unix(), "model": r.Model,
		"status": "in_progress", "output": []any{},
	}
	o.send("response.created", object{"response": base})
	o.send("response.in_progress", object{"response": base})
	if !o.reason(a.reasoning) || !o.addText(a) {
		return
	}
	for _, c := range a.calls {
		if !o.call(c) {
			return
		}
	}
	done := object{"status": "completed", "output": o.items, "usage": responsesUsage()}
	for _, name := range []string{"id", "object", "created_at", "model"} {
		done[name] = base[name]
	}
	o.send("response.completed", object{"response": done})
}

func responsesUsage() object {
	return object{
		"input_tokens": 10, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": 20, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 30,
	}
}

func (o *responder) done(item object) {
	o.send("response.output_item.done", object{"output_index": len(o.items), "item": item})
	o.items = append(o.items, item)
}

func (o *responder) reason(pieces []string) bool {
	if len(pieces) == 0 {
		return true
	}
	id, full, index := o.server.id("rs"), join(pieces), len(o.items)
	at := func(more object) object {
		more["item_id"], more["output_index"], more["summary_index"] = id, index, 0
		return more
	}
	o.send("response.output_item.added", object{
		"output_index": index, "item": object{"id": id, "type": "reasoning", "summary": []any{}},
	})
	o.send("response.reasoning_summary_part.added", at(object{"part": object{"type": "summary_text", "text": ""}}))
	if !o.each(pieces, func(piece string) {
		o.send("response.reasoning_summary_text.delta", at(object{"delta": piece}))
	}) {
		return false
	}
	part := object{"type": "summary_text", "text": full}
	o.send("response.reasoning_summary_text.done", at(object{"text": full}))
	o.send("response.reasoning_summary_part.done", at(object{"part": part}))
	o.done(object{"id": id, "type": "reasoning", "summary": []object{part}})
	return true
}

func (o *responder) addText(a answer) bool {
	if len(a.text) == 0 {
		return !a.drop
	}
	id, full, index := o.server.id("msg"), join(a.text), len(o.items)
	at := func(more object) object {
		more["item_id"], more["output_index"], more["content_index"] = id, index, 0
		return more
	}
	o.send("response.output_item.added", object{"output_index": index, "item": object{
		"id": id, "type": "message", "role": "assistant", "status": "in_progress", "content": []any{},
	}})
	o.send("response.content_part.added", at(object{
		"part": object{"type": "output_text", "text": "", "annotations": []any{}},
	}))
	if !o.each(a.text, func(piece string) { o.send("response.output_text.delta", at(object{"delta": piece})) }) || a.drop {
		return false
	}
	part := object{"type": "output_text", "text": full, "annotations": []any{}}
	o.send("response.output_text.done", at(object{"text": full}))
	o.send("response.content_part.done", at(object{"part": part}))
	o.done(object{"id": id, "type": "message", "role": "assistant", "status": "completed", "content": []any{part}})
	return true
}

func (o *responder) call(c call) bool {
	kind, what, content, event := "function_call", "arguments", c.arguments(), "response.function_call_arguments"
	if c.kind == "custom" {
		kind, what, content, event = "custom_tool_call", "input", c.input, "response.custom_tool_call_input"
	}
	id, callID, index := o.server.id("fc"), o.server.id("call"), len(o.items)
	item := func(status, content string) object {
		it := object{"id": id, "type": kind, "status": status, "call_id": callID, "name": c.name, what: content}
		if c.namespace != "" {
			it["namespace"] = c.namespace
		}
		return it
	}
	o.send("response.output_item.added", object{"output_index": index, "item": item("in_progress", "")})
	if !o.each(chunks(content), func(piece string) {
		o.send(event+".delta", object{"item_id": id, "output_index": index, "delta": piece})
	}) {
		return false
	}
	o.send(event+".done", object{"item_id": id, "output_index": index, what: content})
	o.done(item("completed", content))
	return true
}
