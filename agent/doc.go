// Package agent is the headless agent: a conversation loop (complete, run
// tools, complete again) behind the lines of protocol section 4.
//
// It owns the loop, the Completer seam that models plug into, the window of what
// they are shown, the scripted demo model, the tools (confined to one directory),
// the stdio front end and Session, on which others build theirs. It does not own
// language models (agent/model), tools of MCP servers (agent/mcpclient), the
// network front end (agent/api), the words of the lines (protocol), their framing
// (internal/jsonlines) or how children are run and killed (internal/process).
//
//	input ─► thinking ─► chunk… message ─┬─ no tool calls ──────────► waiting_for_input
//	            ▲                        └─ tool_start ─► (confirm ─► confirmation) ─┐
//	            └──────────────────── tool_message ◄─ executing_tool ◄──────────────┘
//
// A session runs one turn at a time. Two goroutines touch it: the front end's,
// which hands in lines, and the turn's. What they share is behind session.mu;
// waiting_for_input is written under it, so that nothing of a next turn can
// come before it.
package agent
