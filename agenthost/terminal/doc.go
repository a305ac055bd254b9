// Package terminal owns what users do in agents' own terminal clients: the turns that they
// make there, collected from the reports of hooks, and bounded and masked for the journal.
//
// It does not own the sessions that these turns belong to, the journal, or the secrets that
// are masked: it gets a Masker. Whether a terminal client is open is the session's business.
//
//	hooks ──► Report ──► Collector ──┐
//	                                 ├──► Turn, over ──► Turn.Input ──► core.TerminalWorked
//	agents that watch their client ──┘
package terminal
