package language

// allowed lists genuine uses of a retired word, the files that may contain it
// (path.Match, or a folder with a trailing slash; "" means every file), and the reason.
var allowed = []struct{ word, files, reason string }{
	{"verdict", "notebook/", "wire word: the verdict of a verification"},
	{"verdict", "internal/e2e/", "wire word: the verdict of a verification or of a resumed stream"},
	{"verdict", "client/", "wire word: the verdict of a resumed stream"},
	{"verdict", "agenthost/stream/", "wire word: the verdict of a resumed stream"},
	{"verdict", "agenthost/resume_test.go", "wire word: the verdict of a resumed stream"},
	{"verdict", "agenthost/lifetime_test.go", "wire word: the verdict of a resumed stream"},
	{"verdict", "agenthost/api/", "wire word: the verdict of a resumed stream"},
	{"verdict", "protocol/", "wire words: the verdicts of a verification and of a resumed stream"},
	{"verdicts", "protocol/", "wire words, as above"},
	{"verdict", "web/", "wire words, as above"},
	{"withdrawn", "web/src/task/thread/outcome.ts", "wire word: a host's reason for a question that its agent cancelled"},
	{"say", "web/e2e/agents/", "a command of the test agent"},
}
