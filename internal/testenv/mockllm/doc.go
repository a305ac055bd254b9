// Package mockllm owns a scripted language model behind the HTTP APIs of real
// ones, so that agents run, in tests, without one. It speaks, streaming and not:
//
//	POST /v1/messages                 Anthropic Messages, and /count_tokens
//	POST /v1/chat/completions         OpenAI chat completions
//	POST /v1/responses                OpenAI Responses: function, custom and namespace tools
//	POST /v1beta/models/M:VERB        Gemini: streamGenerateContent, generateContent, countTokens
//	GET  /v1/models, /healthz
//
// It has no memory: the answer follows from upper-case words in the last real
// user message, or from the tool results behind it. It picks the tool from those
// that the request offers and fills the names of that tool's own schema.
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
//
// It shares no code with the product, so that a mistake cannot be made on both
// sides at once. It does not check what a real API would refuse, except that a
// tool call and its result must stand together.
package mockllm
