// Package uistream turns the native stream (AI SDK TextStreamPart) into the AI
// SDK's UI message stream, protocol v1, for pages that use its own transport.
//
// It owns the conversion of one turn: it adds openers that the native stream may
// omit, because the SDK's reader fails on a delta or a result without one, and it
// writes only chunks that versions 5, 6 and 7 of the SDK can read. It does not own
// sessions or turns.
//
//	ai-sdk.dev/docs/ai-sdk-ui/stream-protocol
package uistream
