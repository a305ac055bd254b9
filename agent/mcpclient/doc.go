// Package mcpclient owns the agent's side of the Model Context Protocol: it reads a
// configuration of servers, starts or connects them for one session, and offers their tools to
// the agent under names such as mcp__files__read.
//
// Every such tool asks the user first (agent.Tool). Servers on stdio run in the session's
// working directory and end with the session, including their process groups. Their environment
// has the usual variables and the configured ones, but none of Bellhop's. Requests to servers
// on HTTP follow no redirect, because their headers are secrets.
//
// Only tools are supported: no prompts, resources, sampling or elicitation.
package mcpclient
