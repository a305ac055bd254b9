// Package model owns the language models: completers for Anthropic Messages and
// for OpenAI-compatible chat completions over the vendors' own SDKs, the
// catalogue of providers, and what happens when a provider fails: bounded tries
// that honour Retry-After, time limits, errors that name the variable to set.
//
// It reads no environment and writes no key anywhere: not to a log, not into an
// error. It does not own the conversation, its window or the tools (agent).
//
//	try ─► deltas ─► end
//	  │ 408 429 5xx, connection, before the first delta
//	  └─► notice ─► wait (Retry-After, else 1 2 4 … s) ─► try        at most maxTries
//
// What has been said cannot be unsaid: after the first piece of text an answer
// that breaks off is an error.
package model
