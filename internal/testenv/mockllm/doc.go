// Package mockllm owns a scripted language model with the HTTP APIs of real ones, so that tests
// can run agents without a real model. It implements, with and without streaming:
//
//	POST /v1/messages                 Anthropic Messages, and /count_tokens
//	POST /v1/chat/completions         OpenAI chat completions
//	POST /v1/responses                OpenAI Responses: function, custom and namespace tools
//	POST /v1beta/models/M:VERB        Gemini: streamGenerateContent, generateContent, countTokens
//	GET  /v1/models, /healthz
//
// It keeps no state: the response follows from upper-case words in the last real user message,
// or from the tool results after it. It chooses among the tools of the request and uses the
// names of the chosen tool's own schema.
//
//	WRITE path          a call that writes a file, then text after the result
//	EDIT path OLD NEW   a call that replaces OLD by NEW
//	READ path           a call that reads a file
//	BASH command…       a call that runs the rest of the line
//	TWO                 two parallel calls, that write a.txt and b.txt
//	CALL tool {json}    a call of that tool with those arguments; where it begins
//	                    the prompt, no other word counts
//	ASK, TODO, TASK     the agent's question, plan or sub-agent tool, if it offers one
//	THINK               reasoning, then text
//	SLOW n              n pieces of text, 100 ms apart
//	FAIL400 401 429 500 529   that status, for ever (Server.FailNext: a few times)
//	DROP                half a text, then the connection is cut
//	HANG                headers, then nothing
//	(nothing)           a text in five pieces
//
// A request without tools is a side query, such as for a title: "Mock title".
// It shares no code with the product, so that a mistake cannot be on both sides.
// Unlike a real API it rejects no request, except a tool call without its result
// next to it.
// reject what a real API would, except a tool call without its result next to it.
package mockllm
