package apitable

import (
	"net/http"
	"reflect"
	"slices"

	"bellhop/agenthost"
	"bellhop/agenthost/api"
	"bellhop/internal/apidoc"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// Host returns the document of the agent host.
func Host() (*apidoc.Document, error) {
	endpoints, err := httpapi.Endpoints((&api.API{}).Routes)
	if err != nil {
		return nil, err
	}
	routes, err := join(endpoints, hostRows, func(string) []apidoc.Requirement {
		return []apidoc.Requirement{uses(agentPassword)}
	})
	for i := range routes {
		if r := &routes[i]; r.Method != http.MethodGet && byPassword(r.Security) {
			r.Codes = append(slices.Clone(r.Codes), protocol.CodeTwoCopies)
		}
	}
	return &apidoc.Document{
		Title: "Bellhop agent host", Server: "/", Tags: hostTags, Schemes: hostSchemes, Routes: routes,
		Text: "An agent host runs agents next to the code, streams to readers and posts events to the broker. " +
			"Clients ignore members and values that they do not know.",
		Problem: reflect.TypeFor[problem](), Parameters: parameters, Open: openSets,
		Also: []reflect.Type{
			reflect.TypeFor[protocol.Event](), reflect.TypeFor[protocol.Resume](), reflect.TypeFor[protocol.Line](),
		},
	}, err
}

// byPassword reports whether one of the requirements has the agent password, as requests of brokers do.
func byPassword(any []apidoc.Requirement) bool {
	return slices.ContainsFunc(any, func(r apidoc.Requirement) bool {
		return slices.ContainsFunc(r, func(u apidoc.Use) bool { return u.Scheme == agentPassword })
	})
}

// Names of the ways in which callers of a host prove who they are.
const (
	agentPassword = "agentPassword"
	sessionKey    = "sessionKey"
	ownerKey      = "ownerKey"
	operatorKey   = "operatorKey"
)

var hostSchemes = []apidoc.Scheme{
	{Name: agentPassword, Kind: "bearer", Text: "The agent password of the host."},
	{Name: sessionKey, Kind: "header", Member: protocol.HeaderSessionKey, Text: "The key that a broker bound to the " +
		"session. A session without a key needs none."},
	{Name: ownerKey, Kind: "header", Member: protocol.HeaderOwnerKey, Text: "The key that a broker proves a user with."},
	{Name: operatorKey, Kind: "header", Member: protocol.HeaderSessionKey, Text: "The operator's key of the host, from " +
		"its data directory."},
	{Name: streamQuery, Kind: "query", Member: "token", Text: "A stream token of the session."},
	{Name: streamToken, Kind: "bearer", Text: "A stream token of the session."},
}

var hostTags = []apidoc.Tag{
	{Name: "streams", Text: "What holders of a stream token may do: prompt, read, answer, interrupt."},
	{Name: "sessions", Text: "Sessions, as brokers open and read them."},
	{Name: "changes", Text: "The workspace of a session, and what the host does with its changes."},
	{Name: "headless", Text: "Sessions without a broker, as JSON lines on a WebSocket."},
	{Name: "host", Text: "What the host offers and does."},
	{Name: "service", Text: "Health, metrics and this document."},
}

// keyed marks a route about a session: the password with the session's key, if it has one.
func (r row) keyed() row {
	return r.by(uses(agentPassword), uses(agentPassword, sessionKey), uses(agentPassword, operatorKey)).
		more(protocol.CodeSessionKey)
}

// keyedOrToken marks a route about a session that stream tokens open too.
func (r row) keyedOrToken() row {
	keyed := r.keyed()
	return keyed.by(append(keyed.security, uses(streamQuery), uses(streamToken))...)
}

func (r row) tokenOnly() row { return r.by(uses(streamQuery), uses(streamToken)) }

func (r row) operatorOnly() row {
	return r.by(uses(agentPassword, operatorKey)).more(protocol.CodeSessionKey)
}

// once marks a route that remembers acts: with the headers of one, a copy of the request gets the first answer.
func (r row) once() row {
	r = r.header(protocol.HeaderAct, actKeyText).header(protocol.HeaderFirstSeen, firstSeenText)
	if !slices.Contains(r.Codes, conflict) {
		r = r.more(conflict)
	}
	return r
}

const (
	actKeyText    = "Names the act, 1 to 64 of A-Z, a-z, 0-9, - and _. A copy of the request has no effect."
	firstSeenText = "When the broker first saw the act, in RFC 3339. It is required with a key."
)

// more adds codes of errors.
func (r row) more(codes ...protocol.Code) row {
	r.Codes = append(append([]protocol.Code{}, r.Codes...), codes...)
	return r
}

// hostRows has one row for each route of the agent host.
var hostRows = map[string]row{
	"POST /stream/:id": op("startTurn", "streams", "Start the turn of a token and stream it", streamCodes...).
		text("A later POST for the same turn ignores its prompt and attaches. "+nothingNewer).
		tokenOnly().header("Last-Event-ID", cursorText).
		also(http.StatusNoContent, "The reader has all of the turn."),
	"GET /stream/:id": op("attachStream", "streams", "Attach to the session's stream, or resume it", streamCodes...).
		text("Without a cursor it streams the open turn from its start. "+nothingNewer).
		tokenOnly().header("Last-Event-ID", cursorText).
		also(http.StatusNoContent, "The session is idle, and nothing is newer."),
	"POST /session/:id/interrupt": op("interrupt", "streams", "Stop the session's turn", conflict).keyedOrToken(),
	"POST /session/:id/interactions/:iid": op("answer", "streams",
		"Answer a question", conflict, protocol.CodeAnswered, expired).
		keyedOrToken(),

	"POST /session": op("openSession", "sessions",
		"Create or refresh a session", conflict, protocol.CodeForeignBroker, noBranch,
		noWorkspace, gone, storageFull).by(uses(agentPassword), uses(agentPassword, sessionKey),
		uses(agentPassword, sessionKey, ownerKey)).more(protocol.CodeSessionKey).once(),
	"GET /session":     op("listBoundSessions", "sessions", "List the sessions of a broker").needs("brokerId"),
	"POST /reconcile":  op("reconcile", "sessions", "Compare sessions with the broker", conflict),
	"POST /revoke":     op("revokeCredentials", "sessions", "End the tokens and streams of credentials"),
	"GET /session/:id": op("getBoundSession", "sessions", "Describe a session to its broker").keyed(),
	"DELETE /session/:id": op("deleteSession", "sessions", "End a session", conflict).
		text("Workspaces in which something exists only are kept, unless onlyCopies is the id of that list.").keyed().once(),
	"GET /session/:id/only-copies": op("getOnlyCopies", "sessions", "List what exists only in the session's workspaces", conflict).keyed(),
	"GET /session/:id/events": op("listEvents", "sessions",
		"List events of the session's journal", protocol.CodeDiverged).keyed(),
	"POST /session/:id/revoke": op("revokeTokens", "sessions",
		"Drop the session's stream tokens and cut its streams").keyed().once(),
	"POST /session/:id/restart": op("restartAgent", "sessions",
		"End the agent program and the open turn", conflict, gone, wrongMethod).
		keyed().once(),
	"POST /session/:id/terminal": op("openTerminal", "sessions",
		"Prepare the agent's own terminal client", busy, conflict, gone).
		text("The answer contains secrets.").keyed(),
	"DELETE /session/:id/key": op("releaseKey", "sessions", "Forget the session's key").operatorOnly().once(),

	"GET /session/:id/diff": op("getDiff", "changes",
		"Get what changed since the session began", conflict, noWorkspace).keyed(),
	"GET /session/:id/workspace": op("getWorkspace", "changes", "Describe the session's workspace", noWorkspace).keyed(),
	"GET /session/:id/paths": op("searchSessionPaths", "changes",
		"Search files of the session's workspace", conflict, noBranch,
		noWorkspace).keyedOrToken(),
	"GET /session/:id/files": op("listFiles", "changes", "List a directory of the session's workspace",
		hostFileCodes...).keyedOrToken(),
	"GET /session/:id/file": op("readFile", "changes", "Read a file of the session's workspace",
		hostFileCodes...).needs("path").keyedOrToken(),
	"GET /session/:id/search": op("searchFiles", "changes", "Search lines in files of the session's workspace",
		hostFileCodes...).needs("q").keyedOrToken(),
	"GET /session/:id/shell": op("openShell", "changes", "Show a terminal of the session to its broker").
		text(shellText).keyed(),
	"GET /session/:id/shell/direct": op("openShellDirectly", "changes", "Show a terminal to a page that has a ticket").
		text(shellText).open(),
	"GET /session/:id/commands": op("listCommands", "changes",
		"List the slash commands of the session's agent").keyedOrToken(),
	"POST /session/:id/commit": op("commit", "changes", "Commit the changes of the workspace",
		append(hostShipCodes, protocol.CodeNothingToCommit)...).keyed().once(),
	"POST /session/:id/discard": op("discard", "changes", "Give files the content that they had when the session began",
		hostShipCodes...).keyed().once(),
	"POST /session/:id/fetch": op("fetch", "changes", "Bring new commits of the remote into the session's clone",
		append(hostShipCodes, noRemote, remoteFails)...).text("It changes no branch and no file.").keyed(),
	"POST /session/:id/push": op("push", "changes", "Push the branch of the workspace",
		append(hostShipCodes, noRemote, protocol.CodeDivergedBranch, protocol.CodePushRejected, remoteFails)...).keyed().once(),
	"POST /session/:id/pull-request": op("pullRequest", "changes", "Open or change the pull request of the branch",
		append(hostShipCodes, noRemote, remoteFails)...).keyed().once(),

	"POST /sessions": op("createSession", "headless", "Create a session without a webhook", notFound, conflict,
		protocol.CodeForeignBroker, storageFull).
		with(apidoc.Success{Status: http.StatusCreated, Text: "The session is new.", Body: headlessSession}),
	"GET /sessions":             op("listSessions", "headless", "List the sessions of the headless interface"),
	"GET /sessions/:id/history": op("getHistory", "headless", "Get the lines of a session").keyedOrToken(),
	"DELETE /sessions/:id":      op("endSession", "headless", "End a session").keyed().once(),
	"GET /ws/:id": op("openLines", "headless", "Open a WebSocket with the lines of a session", gone, tooMany).
		text("Each text message is a Line.").by(uses(streamQuery), uses(streamToken), uses(agentPassword),
		uses(agentPassword, sessionKey)).more(protocol.CodeSessionKey),

	"GET /workspaces": op("listWorkspaces", "host",
		"List the workspaces of a user", notFound).by(uses(agentPassword, ownerKey)),
	"GET /offer":                     op("getOffer", "host", "List the agents and projects of the host", notFound),
	"PUT /announcements":             op("putAnnouncements", "host", "Replace the announcements of a broker").once(),
	"GET /installations":             op("listInstallations", "host", "List the last installation of each program"),
	"POST /installations":            op("install", "host", "Install an agent's program", notFound, storageFull).once(),
	"DELETE /installations/:program": op("cancelInstallation", "host", "Cancel an installation that runs", notFound).once(),
	"GET /projects/:project/paths":   op("searchProjectPaths", "host", "Search files of a project", conflict, noBranch),
	"POST /projects/:project/stop":   op("stopProject", "host", "End the agents of a project's sessions").operatorOnly().once(),
	"GET /status":                    op("getStatus", "host", "Describe what the host does").by(statusSecurity...),
	"GET /status/events":             op("followStatus", "host", "Follow what the host does").by(statusSecurity...),

	"GET /healthz": op("getHealth", "service", "Report that the process responds").open(),
	"GET /readyz":  op("getReadiness", "service", "Report whether turns can start", storageFull).open(),
	"GET /metrics": op("getMetrics", "service", "Metrics as text of Prometheus", notFound),

	"GET /openapi.yaml": op("getOpenAPI", "service", "This document").open(),
	"GET /openapi.json": op("getOpenAPIAsJSON", "service", "This document as JSON").open(),
	"GET /openapi":      op("readOpenAPI", "service", "This document as a page").open(),
}

const shellText = "It speaks WebSocket, with the subprotocol " + protocol.TerminalProtocol + "."

const nothingNewer = "A reader that sends Last-Event-ID and accepts event streams alone gets text/plain when " +
	"nothing is newer."

var (
	headlessSession = reflect.TypeFor[agenthost.HeadlessResponse]()

	statusSecurity = []apidoc.Requirement{uses(agentPassword), uses(agentPassword, operatorKey)}

	hostShipCodes = []protocol.Code{busy, conflict, noBranch, noWorkspace, unmerged, tooMany, wrongMethod}
	hostFileCodes = []protocol.Code{conflict, gone, noBranch, noWorkspace, tooMany}
	streamCodes   = []protocol.Code{
		busy, conflict, protocol.CodeAttached, protocol.CodeNoTurn, protocol.CodePromptMismatch, gone, storageFull,
	}
)
