// Package agents lists the agents that Bellhop knows: one row for each, with
// everything that the rest of the program needs to know about it. The agent
// host, the command line, the tests, the documentation and the console read the
// rows. To add an agent, write its provider (or use an existing one) and add a
// row here.
//
// The package does not speak with agents: that is the job of the providers below
// agenthost/provider. It does not fetch programs: agenthost/setup does.
package agents
