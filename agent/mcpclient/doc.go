// Package mcpclient owns the agent's side of the Model Context Protocol: it
// reads a configuration of servers, starts or reaches them for one session, and
// offers their tools to the agent, under names such as mcp__files__read.
//
// Every such tool asks the user first (agent.Tool). Servers on stdio run in the
// session's working directory and end with the session, whole process groups
// included; they get the variables that programs expect and those of their
// configuration, none of ours. Requests to servers on HTTP follow no redirect:
// their headers are secrets.
//
// It offers tools only: no prompts, resources, sampling or elicitation.
package mcpclient
