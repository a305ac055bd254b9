// Package mcp offers notebooks to coding agents as tools of the Model Context
// Protocol, over streamable HTTP at /mcp. It owns the tools' names, titles,
// descriptions and schemas, which are written for models to read; what a tool
// does is the use case of package notebook that its REST twin calls too.
//
// The server keeps no sessions: every request says by its bearer token which
// user and agent it is from, so any replica may answer it.
package mcp
