// Package model owns the language models: completers for Anthropic Messages and for
// OpenAI-compatible chat completions with a client of its own for the two endpoints, the
// catalogue of providers, and the handling of their failures: bounded retries that respect
// Retry-After, time limits, and errors that name the variable to set.
//
// It reads no environment variables and never writes a key to a log or an error. It does not
// own the conversation, its window or the tools (agent).
//
//	try ─► deltas ─► end
//	  │ 408 429 5xx, connection, before the first delta
//	  └─► notice ─► wait (Retry-After, else 1 2 4 … s) ─► try        at most maxTries
//
// After the first delta a failure is an error instead of a retry, because the text was already
// shown.
package model
