package language

// pending are paths below the module that were not cleaned yet: the test does not
// read them. Cleaning a path means removing its line.
var pending = []string{}

// allowed are genuine uses of a retired word: what it is, the files it may stand
// in (path.Match, or a folder with a trailing slash; "" is every file), and why.
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
	{"say", "web/e2e/agents/", "a command of the test agent"},
}
