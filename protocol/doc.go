// Package protocol holds the types that broker, agent host and clients exchange:
// events, stream parts, cursors, requests, responses, errors, and the lines of the
// headless interface. It owns their shapes and the rules that can be checked
// without any state. It does no I/O and imports no other package of this module.
//
// Three numbers are never mixed:
//
//	Cursor {epoch,seq}           the events of a session      journal, webhook, reconciliation
//	StreamID <epoch>-<offset>    the frames of its stream     SSE id, Last-Event-ID, ?after=
//	rev                          every change of a task's rows the broker's feed, ?since=
package protocol

//go:generate go run bellhop/internal/wiregen -o ../web/client/src/wire.ts
