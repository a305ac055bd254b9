package language

import "strings"

// place is a set of the places where a word is refused.
type place uint8

const (
	names    place = 1 << iota // identifiers and file names
	comments                   // comments of programs, SQL and make
	docs                       // Markdown
	prose    = comments | docs
	anywhere = names | prose
)

// retired lists words with all their forms. A form of several words is a phrase.
// use is the replacement that the message suggests.
var retired = []struct {
	forms []string
	in    place
	use   string
}{
	{forms("heed heeds heeded heeding"), anywhere, "handle, apply, respect"},
	{forms("parcel parcels"), anywhere, "batch, request"},
	{forms("mourn mourns mourned mourning"), anywhere, "wait for the exit"},
	{forms("bury buries buried burying"), anywhere, "remove"},
	{forms("epitaph epitaphs"), anywhere, "exit summary"},
	{forms("overhear overhears overheard"), anywhere, "observe, inspect"},
	{forms("deed deeds"), anywhere, "operation"},
	{forms("atlas"), anywhere, "path resolver"},
	{forms("hazard hazards"), anywhere, "danger"},
	{forms("verdict verdicts"), anywhere, "decision (policy), outcome, result"},
	{forms("appendage appendages"), anywhere, "append request"},
	{forms("coalescer coalesce coalesces coalesced"), anywhere, "group commit, merge"},
	{forms("crew crews"), anywhere, "workers"},
	{forms("hunt hunts hunted"), anywhere, "search"},
	{forms("crowd crowds crowded"), anywhere, "clients, busy, full"},
	{forms("shelf shelves"), anywhere, "fixture"},
	{forms("mend mends mended"), anywhere, "repair, recover, resume"},
	{forms("voice voices speech spoken"), anywhere, "text, text blocks"},
	{forms("nobody anybody everybody somebody"), anywhere, "name the caller, goroutine, reader or user"},
	{forms("whoever whomever whom"), anywhere, "name the caller, goroutine, reader or user"},
	{forms("judge judges judged judging judgement unjudged"), anywhere, "check, decide, classify"},
	{forms("stranger strangers"), anywhere, "other user, untrusted client, other process"},
	{forms("farewell"), anywhere, "grace, exit output"},
	{forms("torment rage storm"), names, "name the fault: kill, restart, schedule"},
	{forms("anew"), anywhere, "again, from the start"},
	{forms("amid"), anywhere, "during, in the middle of"},
	{forms("deaf mute"), anywhere, "unresponsive, silent"},
	{forms("he him his she her"), prose, "name the host, broker, program or user"},
	{forms("hear hears heard hearing"), names | comments, "receive, handle, read"},
	{forms("tell tells told telling"), names | comments, "notify, report, send, describe"},
	{forms("said saying"), names | comments, "message, reported, stated, sent"},
	{forms("say says"), names, "report, print, describe, message"},
	{forms("garbage"), names, "invalid lines"},
	{forms("whole"), names, "complete, total, closeOut"},
	{forms("together"), names, "parallel, joined"},
	{forms("withdraw withdraws withdrawn"), names, "cancel"},
	{forms("carry carries carrier carried"), names, "wrapper, forward"},
	{forms("arrival arrivals"), names, "incoming event"},
	{phrases("settle in"), names, "save"},
	{forms("prove proves"), names, "verify, activate"},

	{phrases("the rest is"), prose, "name what remains"},
	{
		phrases("of one that", "of one who", "of those that", "of those who"), prose,
		"name the thing: of a turn that, of hosts that",
	},
	{phrases("another hand", "other hands"), prose, "another process, another goroutine"},
	{phrases("hand on", "hands on", "handed on"), prose, "forward, pass"},
	{phrases("goes its way", "out of the way", "in the way"), prose, "describe what happens"},
	{
		phrases("what is", "what was", "what it is", "whatever it is"), comments,
		"name the thing: the rows, the missed events",
	},
	{phrases("is told", "are told", "was told"), prose, "receives, is notified, is reported"},
	{
		phrases("those who", "keeps no other", "keeps no others", "keep no other", "keep no others"), prose,
		"name them: the callers, the users, the others",
	},
	{
		phrases("asks no more", "takes away", "took away", "lets it go", "lets them go", "at odds"), prose,
		"stop asking, remove, release, differ",
	},
	{phrases("is none of", "has no business"), prose, "say plainly that it is not allowed, or not done here"},
}

func forms(list string) []string { return strings.Fields(list) }

func phrases(list ...string) []string { return list }
