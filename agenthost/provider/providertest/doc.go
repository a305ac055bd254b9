// Package providertest checks the contract of agenthost.Provider, Agent and Output,
// and has a scripted provider that needs no program.
//
// Run checks a provider; Recorder is the Output that it uses. Fake is the scripted
// provider: tests, end-to-end tests and benchmarks of the agent host put the script
// into the prompt (see Fake). Fake fulfills the contract too.
//
// The states of a turn in the contract:
//
//	Run ──► streaming ◄──► question open
//	            │               │
//	            ├── finished ───┴──► Outcome stop, length, …
//	            ├── Interrupt ──────► Outcome other, reason aborted
//	            ├── program died ───► Outcome error, reason agent-exited, its last lines
//	            └── ctx or Output ended it ► any Outcome, nothing left running
package providertest
