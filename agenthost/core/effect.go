package core

import "time"

// Effect is something to do after a step's rows are written, in the order given.
type Effect interface{ effect() }

// Effects on the agent of the open turn.
type (
	// StartAgent runs the agent on the prompt of a turn that has just been opened.
	StartAgent struct {
		TurnID string
		Prompt Prompt
	}
	// Interrupt interrupts the open turn. The core gets Interrupted before any other input.
	Interrupt struct{ Reason string }
	// StopAgent interrupts the agent, and reports AgentEnded if it does not return.
	StopAgent struct{ TurnID string }
	// CancelAgent ends the context of the agent's run: its output cannot be kept.
	CancelAgent struct{ TurnID string }
	// EndTurn ends the streams of a turn and wakes the goroutines that wait for its end.
	EndTurn struct{ TurnID string }
	// HoldAnswers with Hold keeps answers back while the connection to the agent is lost;
	// without Hold the agent gets them again.
	HoldAnswers struct{ Hold bool }
	// Await makes the agent wait for the answer to a question that is open now.
	Await struct {
		InteractionID string
		Timeout       time.Duration
	}
	// Reply gives the agent the answer to a question. InteractionID is empty when
	// the question was answered without being asked.
	Reply struct {
		InteractionID string
		Answer        Answer
	}
	// QuestionClosed ends the timer of a question.
	QuestionClosed struct{ InteractionID string }
)

// Effects on streams.
type (
	// CutStreams ends every stream of the session.
	CutStreams struct{}
	// ForgetFrames drops the frames that are kept for readers.
	ForgetFrames struct{}
	// EndQueued ends the stream of a queued turn that will not start.
	EndQueued struct{ TurnID string }
)

// Effects on delivery and on timers.
type (
	// Post makes sure that delivery runs. Nudge also ends its current wait.
	Post struct{ Nudge bool }
	// Retry is how long delivery waits before its next request, unless nudged.
	// Why and Cause are for the log: what failed, and its error. Why is empty when nothing has
	// failed.
	Retry struct {
		After time.Duration
		Why   string
		Cause string
	}
	// CountPending counts the outbox. The core gets PendingCounted before any other input.
	CountPending struct{}
	// ReadPending reads the outbox. The core gets PendingRead before any other input.
	ReadPending struct{ Version int }
	// ShareIncarnation reports an incarnation of the broker to all of its sessions.
	ShareIncarnation struct{ ID string }
	// SetTimer starts a timer, or restarts it. What it reports depends on Name.
	SetTimer struct {
		Name  Timer
		After time.Duration
	}
	// StopTimer stops a timer.
	StopTimer struct{ Name Timer }
	// Warn writes a warning to the log.
	Warn struct {
		Message string
		Attrs   []any
	}
)

// Timer names a timer of a session.
type Timer int

// Timers and the inputs they report.
const (
	TimerAnnounced Timer = iota // AnnouncementExpired
	TimerRenewal                // RenewalDue
	TimerIdle                   // Idled; its delay is the host's, not the effect's
	Timers                      // the number of timers
)

func (StartAgent) effect()       {}
func (Interrupt) effect()        {}
func (StopAgent) effect()        {}
func (CancelAgent) effect()      {}
func (EndTurn) effect()          {}
func (HoldAnswers) effect()      {}
func (Await) effect()            {}
func (Reply) effect()            {}
func (QuestionClosed) effect()   {}
func (CutStreams) effect()       {}
func (ForgetFrames) effect()     {}
func (EndQueued) effect()        {}
func (Post) effect()             {}
func (Retry) effect()            {}
func (CountPending) effect()     {}
func (ReadPending) effect()      {}
func (ShareIncarnation) effect() {}
func (SetTimer) effect()         {}
func (StopTimer) effect()        {}
func (Warn) effect()             {}
