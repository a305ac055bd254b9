// Package mcp offers notebooks to coding agents as tools of the Model Context Protocol, over
// streamable HTTP at /mcp. It owns the tools' names, titles, descriptions and schemas, which
// are written for models. Each tool calls the same use case of package notebook as its REST
// route.
//
// The server keeps no sessions: the bearer token of every request identifies its user and
// agent, so any replica can answer it.
package mcp
