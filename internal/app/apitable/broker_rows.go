package apitable

import (
	"net/http"

	"bellhop/internal/apidoc"
	"bellhop/protocol"
)

// Codes that rows name often.
const (
	invalid     = protocol.CodeInvalid
	forbidden   = protocol.CodeForbidden
	notFound    = protocol.CodeNotFound
	conflict    = protocol.CodeConflict
	busy        = protocol.CodeBusy
	gone        = protocol.CodeGone
	expired     = protocol.CodeExpired
	tooLarge    = protocol.CodeTooLarge
	tooMany     = protocol.CodeTooManyRequests
	badGateway  = protocol.CodeBadGateway
	quota       = protocol.CodeQuota
	noBranch    = protocol.CodeNoBranch
	noWorkspace = protocol.CodeNoWorkspace
	noRemote    = protocol.CodeNoRemote
	remoteFails = protocol.CodeRemoteFailed
	unmerged    = protocol.CodeUnmerged
	storageFull = protocol.CodeStorageFull
	wrongMethod = protocol.CodeMethodNotAllowed
)

var brokerTags = []apidoc.Tag{
	{Name: "turns", Text: "Check-in and what follows: the one way to send a message to an agent."},
	{Name: "tasks", Text: "Tasks, their history and their queue of messages."},
	{Name: "changes", Text: "What agents changed: diffs, commits, pushes, pull requests."},
	{Name: "questions", Text: "Questions of agents to the user."},
	{Name: "feeds", Text: "Event streams about changes."},
	{Name: "choices", Text: "What tasks can choose from: agents, projects, files, workspaces."},
	{Name: "files", Text: "Files of a task's workspace, to read."},
	{Name: "sharing", Text: "Transcripts as documents, links to them, and templates of tasks."},
	{Name: "account", Text: "Sign-in, second factor, API tokens, tokens for forges."},
	{Name: "installation", Text: "Users, hosts, audit log and the rest that administrators look after."},
	{Name: "notebooks", Text: "Notebooks, as their user sees them."},
	{Name: "coding-agents", Text: "Notebooks, as coding agents use them."},
	{Name: "webhooks", Text: "Webhooks of users, notifications to their browsers, and the log of deliveries."},
	{Name: "hosts", Text: "What agent hosts call."},
	{Name: "service", Text: "Health, metrics and this document."},
}

// brokerRows has one row for each route of the broker.
var brokerRows = map[string]row{
	"POST /api/agent": op("checkIn", "turns", "Store a message and open the session for its turn",
		notFound, conflict, quota, badGateway, gone, noBranch, noWorkspace).
		text("The answer says where to stream from. With a messageId the request may be repeated. " +
			"A 502 can carry the host's own code, and names the stored message."),
	"POST /api/agent/attach": op("attach", "turns",
		"Get a stream token without sending a message", notFound, conflict, badGateway, gone,
		noWorkspace),
	"POST /api/agent/interrupt": op("interrupt", "turns", "Stop the agent's turn", notFound, conflict, badGateway).
		text("An idle agent is no error."),
	"POST /api/agent/restart": op("restartAgent", "turns",
		"End the agent program", notFound, conflict, badGateway, wrongMethod).header(protocol.HeaderAct, actKeyText),
	"POST /api/agent/finish": op("finishTurn", "turns", "Report how a turn of a basic host ended", notFound, conflict),
	"POST /api/agent/stream/:taskId": op("relayPrompt", "turns", "Start the turn and stream it through the broker",
		relayCodes...).text(relayText).header("Last-Event-ID", cursorText).by(uses(streamQuery), uses(streamToken)).
		also(http.StatusNoContent, "Nothing is newer, and no turn runs."),
	"GET /api/agent/stream/:taskId": op("relayStream", "turns", "Stream the task's session through the broker",
		relayCodes...).text(relayText).header("Last-Event-ID", cursorText).by(uses(streamQuery), uses(streamToken)).
		also(http.StatusNoContent, "Nothing is newer, and no turn runs."),

	"POST /api/tasks": op("createTask", "tasks", "Create a task", conflict, quota, badGateway, notFound),
	"GET /api/tasks":  op("listTasks", "tasks", "List tasks by last activity"),
	"GET /api/tasks/:id": op("getTask", "tasks", "Get a task").
		text("It can wait for what a reader saw in the stream."),
	"PATCH /api/tasks/:id": op("updateTask", "tasks", "Change members of a task", conflict, badGateway),
	"DELETE /api/tasks/:id": op("deleteTask", "tasks", "Delete a task", conflict).
		text("The host keeps workspaces in which something exists only, unless onlyCopies is the id of that list."),
	"GET /api/tasks/:id/only-copies": op("getOnlyCopies", "tasks", "List what exists only in the task's workspace"),
	"GET /api/tasks/:id/messages":    op("listMessages", "tasks", "List messages by position"),
	"GET /api/tasks/:id/usage":       op("getUsage", "tasks", "Add up what the task's closed turns used"),
	"GET /api/tasks/:id/queue":       op("getQueue", "tasks", "List the messages that wait for the agent"),
	"POST /api/tasks/:id/queue": op("queueMessage", "tasks", "Queue a message", conflict, quota, tooLarge).
		text("With a messageId the request may be repeated."),
	"PATCH /api/tasks/:id/queue": op("changeQueue", "tasks", "Pause or resume the queue", conflict),
	"PATCH /api/tasks/:id/queue/:messageId": op("changeQueuedMessage", "tasks",
		"Change or move a queued message", conflict),
	"DELETE /api/tasks/:id/queue/:messageId": op("removeQueuedMessage", "tasks", "Remove a queued message", conflict),
	"POST /api/tasks/:id/queue/:messageId/send": op("sendQueuedMessage", "tasks",
		"Send a queued message next", conflict),
	"POST /api/agent/diff": op("createDiff", "changes",
		"Store the session's changes as a message", notFound, conflict, badGateway),
	"POST /api/tasks/:id/commit": op("commit", "changes", "Commit the changes of the workspace",
		append(shipCodes, protocol.CodeNothingToCommit)...).header(protocol.HeaderAct, actKeyText),
	"POST /api/tasks/:id/discard": op("discard", "changes",
		"Give files the content that they had when the task began", shipCodes...).header(protocol.HeaderAct, actKeyText),
	"POST /api/tasks/:id/push": op("push", "changes", "Push the branch of the workspace",
		append(shipCodes, noRemote, protocol.CodeDivergedBranch, protocol.CodePushRejected, remoteFails)...).header(protocol.HeaderAct, actKeyText),
	"POST /api/tasks/:id/pull-request": op("pullRequest", "changes", "Open or change the pull request of the branch",
		append(shipCodes, noRemote, remoteFails)...).header(protocol.HeaderAct, actKeyText),
	"POST /api/tasks/:id/fetch": op("fetch", "changes", "Bring new commits of the remote into the task's clone",
		append(shipCodes, noRemote, remoteFails)...).text("It changes no branch and no file, so a turn may be open.").header(protocol.HeaderAct, actKeyText),
	"GET /api/tasks/:id/workspace": op("getTaskWorkspace", "changes",
		"Describe the workspace of the task's session", conflict, badGateway,
		noWorkspace),

	"GET /api/interactions": op("listInteractions", "questions", "List questions of all tasks"),
	"POST /api/interactions/:id": op("answer", "questions",
		"Answer a question", conflict, protocol.CodeAnswered, expired, gone, badGateway),

	"GET /api/tasks/:id/events": op("followTask", "feeds", "Follow the changes of a task").
		text("Frame ids are revs; a resume is exact. After `reset`, read task and messages again.").
		header("Last-Event-ID", "The rev that the reader has."),
	"GET /api/events": op("followUser", "feeds", "Follow the changes of all tasks of the caller"),

	"GET /api/agents": op("listAgents", "choices", "List the agents and projects of all hosts"),
	"GET /api/paths": op("searchPaths", "choices",
		"Search files of a project", conflict, badGateway, noBranch, notFound),
	"GET /api/tasks/:id/paths": op("searchTaskPaths", "choices",
		"Search files of the task's workspace", conflict, badGateway, noBranch),
	"GET /api/tasks/:id/commands": op("listCommands", "choices",
		"List the slash commands of the task's agent", conflict, badGateway),
	"GET /api/workspaces": op("listWorkspaces", "choices", "List the caller's workspaces on all hosts"),

	"GET /api/tasks/:id/files": op("listFiles", "files", "List a directory of the task's workspace", fileCodes...),
	"GET /api/tasks/:id/file":  op("readFile", "files", "Read a file of the task's workspace", fileCodes...).needs("path"),
	"GET /api/tasks/:id/search": op("searchFiles", "files", "Search lines in files of the task's workspace",
		fileCodes...).needs("q"),

	"GET /api/tasks/:id/shell": op("openTerminal", "files", "Open a terminal in the task's workspace").text(shellText),

	"GET /api/tasks/:id/export": op("exportTask", "sharing", "Export the task as Markdown").text(exportText),
	"POST /api/tasks/:id/shares": op("createShare", "sharing", "Create a share link of the task", conflict).
		text("Token and URL are in this answer, and never again."),
	"GET /api/tasks/:id/shares": op("listTaskShares", "sharing", "List the share links of the task, the newest first"),
	"GET /api/shares":           op("listShares", "sharing", "List the caller's share links, the newest first"),
	"DELETE /api/shares/:id":    op("revokeShare", "sharing", "End a share link"),
	"GET /api/shared": op("readShared", "sharing", "Read a page of a shared transcript", notFound).sharedOnly().
		text("If `more` is true, `nextAfter` is the `after` of the next page."),
	"GET /api/shared/export": op("exportShared", "sharing", "Export a shared transcript as Markdown", notFound).
		sharedOnly().text(exportText),
	"GET /api/templates":  op("listTemplates", "sharing", "List the templates that the caller sees, by name"),
	"POST /api/templates": op("createTemplate", "sharing", "Create a template", conflict),
	"PUT /api/templates/:id": op("updateTemplate", "sharing", "Replace a template",
		conflict),
	"DELETE /api/templates/:id": op("deleteTemplate", "sharing", "Delete a template"),
	"POST /api/templates/:id/fill": op("fillTemplate", "sharing", "Put values into the prompt of a template").
		text("It creates nothing: send the result to createTask."),

	"POST /api/auth/login": op("signIn", "account",
		"Sign in by password or link", protocol.CodeSecondFactor, protocol.CodeUnauthorized,
		tooMany).open().text("The answer sets the session cookie."),
	"POST /api/auth/logout":               op("signOut", "account", "End the session").open(),
	"GET /api/auth/me":                    op("getMe", "account", "Get the caller"),
	"POST /api/auth/password":             op("changePassword", "account", "Change the caller's password"),
	"GET /api/auth/sign-ins":              op("listOwnSignIns", "account", "List the caller's sessions"),
	"DELETE /api/auth/sign-ins/:signInId": op("endOwnSignIn", "account", "End a session of the caller"),
	"GET /api/auth/second-factor":         op("getSecondFactor", "account", "Describe the caller's second factor"),
	"POST /api/auth/second-factor":        op("beginSecondFactor", "account", "Begin a second factor", conflict),
	"POST /api/auth/second-factor/confirm": op("confirmSecondFactor", "account",
		"Confirm a second factor by its first code", conflict,
		notFound),
	"POST /api/auth/second-factor/recovery-codes": op("renewRecoveryCodes", "account",
		"Replace the recovery codes", conflict, notFound),
	"POST /api/auth/second-factor/disable": op("disableSecondFactor", "account",
		"Turn the second factor off", conflict, notFound),
	"GET /api/tokens": op("listTokens", "account", "List the caller's API tokens"),
	"POST /api/tokens": op("createToken", "account", "Create an API token").
		text("The token is in this answer, and never again."),
	"DELETE /api/tokens/:id": op("deleteToken", "account", "Revoke an API token"),
	"GET /api/forge-tokens":  op("listForgeTokens", "account", "List the caller's tokens for forges"),
	"POST /api/forge-tokens": op("addForgeToken", "account", "Store a token for a forge", conflict).
		text("It replaces an earlier one for the same forge. No answer has it."),
	"DELETE /api/forge-tokens/:id": op("deleteForgeToken", "account", "Remove a token for a forge"),

	"GET /api/users":                           op("listUsers", "installation", "List users by e-mail address"),
	"PATCH /api/users/:id":                     op("updateUser", "installation", "Disable or enable a user", conflict),
	"DELETE /api/users/:id":                    op("deleteUser", "installation", "Delete a user", conflict),
	"GET /api/users/:id/sign-ins":              op("listSignIns", "installation", "List the sessions of a user"),
	"DELETE /api/users/:id/sign-ins/:signInId": op("endSignIn", "installation", "End a session of a user"),
	"DELETE /api/users/:id/second-factor": op("resetSecondFactor", "installation",
		"Remove the second factor of a user"),
	"GET /api/audit": op("listAudit", "installation",
		"List entries of the audit log, the newest first"),
	"GET /api/audit/export": op("exportAudit", "installation", "Export the audit log as JSON lines").
		text("Each line is an AuditEntry. An export that is not complete ends with a cut connection."),
	"GET /api/hosts":        op("listHosts", "installation", "List the registered hosts"),
	"POST /api/hosts":       op("createHost", "installation", "Register a host", conflict, badGateway),
	"PATCH /api/hosts/:id":  op("updateHost", "installation", "Change members of a host", conflict, badGateway),
	"DELETE /api/hosts/:id": op("deleteHost", "installation", "Remove a host", conflict),
	"GET /api/hosts/:id/installations": op("listInstallations", "installation",
		"List the last installation of each agent's program on a host", badGateway),
	"POST /api/hosts/:id/installations": op("install", "installation",
		"Install an agent's program on a host", badGateway, storageFull),
	"DELETE /api/hosts/:id/installations/:program": op("cancelInstallation", "installation",
		"Cancel an installation that runs", badGateway),
	"GET /api/announcements": op("listAnnouncements", "installation", "List the announcements that hold now"),
	"POST /api/announcements": op("announce", "installation", "Announce something to all users", conflict, gone).
		with(apidoc.Success{Status: http.StatusOK, Text: "The announcement exists already.", Body: announcement}),
	"DELETE /api/announcements/:id": op("cancelAnnouncement", "installation", "Take an announcement back"),
	"GET /api/doctor":               op("diagnose", "installation", "Run the checks of `bellhop doctor`"),
	"GET /api/orphans": op("listOrphans", "installation",
		"List sessions whose task the broker does not have", badGateway),
	"POST /api/orphans/:sessionId": op("adopt", "installation",
		"Create the task of an orphan", conflict, gone, badGateway, notFound),

	"GET /api/notebooks":        op("listNotebooks", "notebooks", "List notebooks"),
	"GET /api/notebooks/:id":    op("getNotebook", "notebooks", "Get a notebook with its sources"),
	"DELETE /api/notebooks/:id": op("deleteNotebook", "notebooks", "Delete a notebook"),
	"GET /api/sources/:id":      op("getSource", "notebooks", "Get a source"),
	"DELETE /api/sources/:id":   op("deleteSource", "notebooks", "Delete a source"),
	"GET /api/sources/:id/versions": op("listVersions", "notebooks",
		"List the versions of a source, the oldest first"),
	"GET /api/sources/:id/versions/:version": op("getVersion", "notebooks", "Get a version of a source"),
	"GET /api/sources/:id/conversation": op("getConversation", "notebooks",
		"Get the questions and answers about a source"),
	"POST /api/sources/:id/conversation": op("ask", "notebooks",
		"Ask the agent about a source", conflict, tooMany, expired, quota),
	"POST /api/sources/:id/conversation/read": op("markRead", "notebooks", "Mark messages as read"),
	"GET /api/agent-sessions": op("listAgentSessions", "notebooks",
		"List the coding agents that are connected"),
	"GET /api/agent-sessions/:id/icon": op("getIcon", "notebooks", "Get the image of a coding agent", badGateway).
		header("If-None-Match", "The ETag that the reader has.").also(http.StatusNotModified, "The reader has the image."),
	"POST /api/agent-sessions/:id/disconnect": op("disconnectAgent", "notebooks", "Disconnect a coding agent", conflict),
	"POST /api/agent-sessions/:id/renew":      op("renewAgent", "notebooks", "Connect a coding agent again", conflict),

	"POST /api/coding-agent/notebooks": op("createNotebook", "coding-agents",
		"Create or find the agent's notebook", conflict,
		protocol.CodeDisconnected).
		with(apidoc.Success{Status: http.StatusCreated, Text: "The notebook is new.", Body: createdNotebook}),
	"POST /api/coding-agent/sources/with-context": op("saveCode", "coding-agents",
		"Save code with the reason why it was written",
		agentCodes...),
	"GET /api/coding-agent/sources": op("listAgentSources", "coding-agents",
		"List the agent's sources", agentCodes...),
	"GET /api/coding-agent/sources/:id": op("getAgentSource", "coding-agents",
		"Get a source of the agent", agentCodes...),
	"PUT /api/coding-agent/sources/:id": op("updateSource", "coding-agents",
		"Save the next version of a source", agentCodes...),
	"DELETE /api/coding-agent/sources/:id": op("deleteAgentSource", "coding-agents",
		"Delete a source of the agent", agentCodes...),
	"POST /api/coding-agent/verify": op("verifyCode", "coding-agents",
		"Check code without saving it", agentCodes...),
	"GET /api/coding-agent/followups": op("listFollowups", "coding-agents",
		"List unanswered questions of the user", agentCodes...),
	"POST /api/coding-agent/followups/:id/respond": op("respond", "coding-agents",
		"Answer a question of the user", agentCodes...),
	"POST /api/coding-agent/webhook/register": op("registerWebhook", "coding-agents",
		"Have questions sent to a webhook", agentCodes...),
	"DELETE /api/coding-agent/webhook": op("removeWebhook", "coding-agents",
		"Stop sending questions to the webhook", agentCodes...),
	"POST /mcp": op("callMCP", "coding-agents", "Call tools over MCP (streamable HTTP)", wrongMethod).foreign().
		also(http.StatusAccepted, "The notification was received."),
	"GET /mcp": op("openMCP", "coding-agents", "Refuse a stream: MCP is served by POST only").foreign(),
	"GET /.well-known/oauth-protected-resource": op("describeMCP", "coding-agents",
		"Say which tokens /mcp takes (RFC 9728)").open(),
	"GET /.well-known/oauth-protected-resource/mcp": op("describeMCPResource", "coding-agents",
		"The same, for the path /mcp").open(),
	"POST /register": op("refuseRegistration", "coding-agents", "Refuse to register OAuth clients").open().foreign(),

	"GET /api/deliveries":            op("listDeliveries", "webhooks", "List deliveries, the newest first"),
	"POST /api/deliveries/:id/retry": op("retryDelivery", "webhooks", "Send a delivery again", conflict),
	"GET /api/webhooks":              op("listWebhooks", "webhooks", "List webhooks"),
	"POST /api/webhooks": op("createWebhook", "webhooks",
		"Create a webhook", conflict, quota).text(secretText),
	"DELETE /api/webhooks/:id": op("deleteWebhook", "webhooks", "Delete a webhook and what waits for it"),
	"POST /api/webhooks/:id/rotate": op("rotateWebhook", "webhooks",
		"Replace the secret of a webhook").text(secretText),
	"POST /api/webhooks/:id/enable": op("enableWebhook", "webhooks", "Enable a webhook again"),
	"GET /api/notifications":        op("listSubscriptions", "webhooks", "List the browsers that get notifications"),
	"PUT /api/notifications": op("subscribe", "webhooks", "Have notifications sent to this browser", quota).
		text("They end with the sign-in of the browser."),
	"PATCH /api/notifications/:id":  op("changeSubscription", "webhooks", "Choose the notifications of a browser"),
	"DELETE /api/notifications/:id": op("removeSubscription", "webhooks", "Send a browser no more notifications"),

	"POST /api/agent/webhook": op("postEvents", "hosts", "Store events of a session", webhookCodes...).
		text("The body is one event or a batch. The answer comes after the commit.").
		by(uses(webhookQuery), uses(webhookToken)).
		header("webhook-id", "The same when the same events are sent again.").
		header("webhook-timestamp", "Seconds since 1970.").
		header("webhook-signature", "`v1,` and the base64 of the HMAC-SHA256 of id, timestamp and body."),
	"POST /api/agent/webhook/renew": op("renewWebhookToken", "hosts",
		"Renew a webhook token", invalid, protocol.CodeTokenExpired, gone,
		notFound).by(uses(webhookQuery), uses(renewalToken),
		uses(webhookQuery, agentPassword), uses(renewalToken, agentPassword)),

	"GET /healthz": op("getHealth", "service", "Report that the process responds").open(),
	"GET /readyz":  op("getReadiness", "service", "Report whether requests can be served", storageFull).open(),
	"GET /metrics": op("getMetrics", "service", "Metrics as text of Prometheus", notFound),

	"GET /openapi.yaml": op("getOpenAPI", "service", "This document").open(),
	"GET /openapi.json": op("getOpenAPIAsJSON", "service", "This document as JSON").open(),
	"GET /openapi":      op("readOpenAPI", "service", "This document as a page").open(),
}

const (
	relayText  = "Frames, cursor and answers are those of the host. The stream token is the only credential."
	cursorText = "The id of the last frame that the reader has."
	secretText = "The secret is in this answer, and never again."
	exportText = "It is sent while it is read. An export that is not complete ends with a cut connection."
)

var (
	shipCodes  = []protocol.Code{busy, conflict, noBranch, noWorkspace, unmerged, tooMany, badGateway}
	fileCodes  = []protocol.Code{conflict, gone, noBranch, noWorkspace, tooMany, badGateway}
	agentCodes = []protocol.Code{notFound, conflict, protocol.CodeAnswered, expired, protocol.CodeDisconnected, tooMany}
	relayCodes = []protocol.Code{
		busy, conflict, protocol.CodeAttached, protocol.CodeNoTurn, protocol.CodePromptMismatch, gone,
		badGateway, storageFull,
	}
	webhookCodes = []protocol.Code{
		notFound, protocol.CodeTokenExpired, protocol.CodeSignatureMissing, protocol.CodeSignatureInvalid,
		protocol.CodeSignatureTime,
		conflict, protocol.CodeDiverged, protocol.CodeGap, protocol.CodeFenced, protocol.CodeUnverified, gone, storageFull,
		protocol.CodeTwoCopies,
	}
)
