// Package agent is the headless agent: a conversation loop (complete, run
// tools, complete again) behind the lines of protocol section 4.
//
// It owns the loop, the Completer interface that models implement, the window of the
// conversation that a model gets, the scripted demo model, the tools (confined to one
// directory), the stdio front end, and Session, on which other front ends build. It does not
// own language models (agent/model), tools of MCP servers (agent/mcpclient), the network front
// end (agent/api), the names on the lines (protocol), their framing (internal/jsonlines) or how
// child processes run (internal/process).
//
//	input ─► thinking ─► chunk… message ─┬─ no tool calls ──────────► waiting_for_input
//	            ▲                        └─ tool_start ─► (confirm ─► confirmation) ─┐
//	            └──────────────────── tool_message ◄─ executing_tool ◄──────────────┘
//
// A session runs one turn at a time. Two goroutines use it: the front end's, which
// passes lines in, and the turn's. session.mu guards their shared fields.
// waiting_for_input is written under it, so that no line of the next turn can
// precede it.
package agent
