// Package explore checks the delivery of events in every order of faults, on the
// real code: agenthost/core, agenthost/delivery and broker/sequencer. It is used by tests only.
//
// A World is two hosts, one database, two brokers on it, and the requests between them. The
// pure functions decide, as they do in Bellhop. The World does only what the shells around
// them do: it commits rows, sends, receives, and loses all that was not committed.
//
//	World ──Actions──► every next World ──violation──► the shortest trace to it
//
// Search visits all worlds that a number of actions can reach, each once (search.go).
// The limits of a World (Limits) bound how often each fault happens. Beyond the depth of Search
// a test draws long random schedules.
//
// Rules are switches that turn one fix off. A test demands a violation for each of them:
// only then does a search without violations show anything.
//
//	world.go       the World, its limits, its copies and its hash
//	host.go        a host: what agenthost does around agenthost/core
//	broker.go      database and brokers: what package broker does around broker/sequencer
//	requests.go    posts, renewals and check-ins under way, and what the network does to them
//	pull.go        the broker pulls events
//	actions.go     which actions a World allows
//	invariants.go  what must hold in every World
//	search.go      breadth first, so that the first violation has the shortest trace
package explore
