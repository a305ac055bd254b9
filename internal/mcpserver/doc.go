// Package mcpserver serves tools over MCP: streamable HTTP by POST, without MCP
// sessions. It owns how requests are checked, results encoded and errors formatted for
// a model. The tools, and who may call them, are their packages'.
package mcpserver
