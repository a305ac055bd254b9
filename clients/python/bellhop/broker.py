# Code generated from openapi/broker.yaml by internal/pygen. DO NOT EDIT.
"Bellhop broker: types and routes."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union, cast

from ._http import Server, element, members

AgentSessionStatus = Literal["active", "expired", "disconnected"]

AnnouncementLevel = Literal["info", "success", "warning", "error"]

AuditAction = Literal["sign-in", "sign-in.failed", "sign-in.link", "sign-in.ended", "sign-in.password", "sign-out", "token.created", "token.revoked", "user.created", "user.password", "user.disabled", "user.enabled", "user.deleted", "user.erased", "second-factor.enabled", "second-factor.disabled", "second-factor.reset", "second-factor.codes", "host.created", "host.changed", "host.removed", "host.reconciled", "host.installed", "host.cancelled", "task.adopted", "task.answered", "task.mode", "task.committed", "task.discarded", "task.fetched", "task.pushed", "task.requested", "task.expired", "forge-token.added", "forge-token.removed", "share.created", "share.revoked", "webhook.rotated", "task.terminal-opened", "task.terminal-closed", "notifications.on", "notifications.off", "keys.rotated", "audit.exported", "data.exported", "data.imported"]

AuditActorKind = Literal["user", "operator", "host", "visitor", "broker"]

AuditSubjectKind = Literal["user", "token", "host", "task", "webhook", "keyset", "audit", "data"]

Claim = Literal["parses", "type-checks"]

Code = str

ContentKind = Literal["text", "image", "binary"]

EventType = str

FileKind = Literal["file", "directory", "link", "other"]

FinishReason = Literal["stop", "length", "content-filter", "tool-calls", "error", "other"]

FollowupRole = Literal["user", "agent"]

ForgeKind = Literal["github", "gitlab", "gitea"]

HostHealth = Literal["unknown", "ok", "low-space", "full", "unreachable"]

InstallationState = Literal["running", "installed", "present", "failed", "cancelled"]

InstallationStep = Literal["wait", "download", "unpack", "npm", "check"]

InteractionKind = Literal["confirm", "ask"]

InteractionState = Literal["open", "resolved", "expired"]

Level = Literal["ok", "warning", "error"]

MessageStatus = Literal["SENDING", "SENT", "ERROR"]

NotificationEvent = Literal["question", "finished", "failed", "followup"]

OnlyCopyKind = Literal["changed", "hidden", "staged", "ignored", "unread", "repository", "submodule", "worktree", "commits", "object", "stash", "reflog", "unknown"]

PermissionMode = Literal["plan", "ask", "accept-edits", "auto"]

ProgressState = Literal["sending", "retrying", "waiting", "held"]

QueuePause = Literal["stopped", "failed", "unknown", "user-disabled"]

QueuedState = Literal["waiting", "sending", "sent"]

Reach = Literal["direct", "relay"]

Role = Literal["USER", "ASSISTANT"]

SandboxState = Literal["full", "partial", "none"]

Scope = Literal["tasks:read", "tasks:write", "notebooks", "hosts", "webhooks", "admin"]

ShipStep = Literal["commit", "discard", "discard-hunk", "fetch", "push", "pull-request"]

State = Literal["queued", "held", "delivered", "failed", "expired"]

Status = Literal["none", "idle", "busy"]

StorageState = Literal["low"]

TaskMode = Literal["agent", "chat"]

TaskState = Literal["waiting", "working", "failed"]

TokenKind = Literal["user", "agent"]

ToolState = Literal["running", "done", "error", "denied", "unknown"]

Verdict = Literal["verified", "failed", "unsupported"]

WebhookEvent = Literal["turn.finished", "interaction.opened", "followup.answered", "followup.failed"]

WebhookFormat = Literal["", "ntfy", "slack"]


class Account(TypedDict):
    """Account is a user as administrators see them."""
    id: str
    email: str
    admin: bool
    createdAt: str
    disabledAt: Optional[str]
    secondFactor: bool


class _AdoptRequest(TypedDict):
    hostId: str


class AdoptRequest(_AdoptRequest, total=False):
    """AdoptRequest is the body of POST /api/orphans/:sessionId. email names the user who gets the task; "" is
    the owner. title "" is the title that the host knows."""
    email: str
    title: str


class AgentHint(TypedDict):
    """AgentHint is a frame of the user's feed. It reports a change of an agent session: event names the
    change, sourceId the source, if it concerns one."""
    agentSessionId: str
    rev: int
    status: AgentSessionStatus
    event: str
    sourceId: str


class _AgentSession(TypedDict):
    id: str
    userId: str
    agentName: str
    agentIdentifier: str
    status: AgentSessionStatus
    lastActivity: str
    metadata: Dict[str, Any]
    createdAt: str


class AgentSession(_AgentSession, total=False):
    """AgentSession is a third-party coding agent's connection to a user's notebook. notebookId is absent
    after the user deleted the notebook."""
    notebookId: str
    webhookUrl: str


class _AnnounceRequest(TypedDict):
    text: str


class AnnounceRequest(_AnnounceRequest, total=False):
    """AnnounceRequest is the body of POST /api/announcements. With an announcementId the request can be
    repeated. expiresIn is in seconds."""
    level: AnnouncementLevel
    expiresIn: int
    announcementId: str


class Announcement(TypedDict):
    """Announcement is a notice of an administrator to every user: consoles show it, and hosts show it to the
    clients of their headless interface."""
    announcementId: str
    text: str
    level: AnnouncementLevel
    createdAt: str
    expiresAt: str


class AnnouncementList(TypedDict):
    """AnnouncementList is the response to GET /api/announcements: the active ones, the oldest first."""
    announcements: List[Announcement]


class _Answer(TypedDict):
    sourceId: str
    agentSessionId: str
    inReplyTo: str
    messageId: str


class Answer(_Answer, total=False):
    """Answer is an agent's answer as the user's own webhooks get it."""
    version: int


class AnswerRequest(TypedDict, total=False):
    """AnswerRequest answers an interaction, on the broker and on the host."""
    approved: bool
    text: str
    remember: str
    reason: str
    by: str


class _ApiToken(TypedDict):
    id: str
    name: str
    kind: TokenKind
    scopes: List[Scope]
    expiresAt: Optional[str]
    lastUsedAt: Optional[str]
    createdAt: str


class ApiToken(_ApiToken, total=False):
    """ApiToken is an API token as its owner sees it. token is set only in the response that created it."""
    agentIdentifier: str
    token: str


class Artifact(TypedDict):
    """Artifact is a piece of content of a message."""
    id: str
    type: str
    content: Any


class _ArtifactInput(TypedDict):
    type: str


class ArtifactInput(_ArtifactInput, total=False):
    """ArtifactInput is a piece of content a user attaches to a message."""
    content: Any


class _AskRequest(TypedDict):
    content: str


class AskRequest(_AskRequest, total=False):
    """AskRequest is a user's message about a source."""
    attachments: List[FollowupAttachment]


class _AttachRequest(TypedDict):
    taskId: str


class AttachRequest(_AttachRequest, total=False):
    """AttachRequest is the body of POST /api/agent/attach, which opens the stream of a task without a
    message. reach works as in a check-in."""
    reach: Reach


class _AttachResponse(TypedDict):
    success: bool
    sessionId: str
    streamToken: str
    streamUrl: str
    expiresAt: str
    agentStatus: Status
    streamCursor: Optional[str]


class AttachResponse(_AttachResponse, total=False):
    """AttachResponse is the response to an attach."""
    reach: Reach
    capabilities: List[str]


class _Attachment(TypedDict):
    type: str
    data: str


class Attachment(_Attachment, total=False):
    """Attachment is an image or a document; data is base64 (RFC 4648 section 4)."""
    mediaType: str
    name: str


class _Attempt(TypedDict):
    number: int
    at: str
    durationMs: int


class Attempt(_Attempt, total=False):
    status: int
    error: str
    answer: str


class _AuditActor(TypedDict):
    kind: AuditActorKind


class AuditActor(_AuditActor, total=False):
    """AuditActor is who acted."""
    id: str
    email: str
    tokenId: str
    address: str
    via: str


class _AuditEntry(TypedDict):
    no: int
    at: str
    action: AuditAction
    actor: AuditActor
    subject: AuditSubject


class AuditEntry(_AuditEntry, total=False):
    """AuditEntry is one act in the audit log. no grows with every entry."""
    detail: Dict[str, str]


class _AuditList(TypedDict):
    entries: List[AuditEntry]


class AuditList(_AuditList, total=False):
    """AuditList is a page of the audit log, the newest entry first."""
    nextCursor: str


class _AuditSubject(TypedDict):
    kind: AuditSubjectKind


class AuditSubject(_AuditSubject, total=False):
    """AuditSubject is what an act concerns."""
    id: str
    name: str


class _BoundSession(TypedDict):
    sessionId: str
    agent: str
    project: str
    cursor: Cursor
    acknowledged: Cursor
    createdAt: str
    lastActivityAt: str


class BoundSession(_BoundSession, total=False):
    """BoundSession is a session that is bound to a broker, as GET /session on the agent host lists it."""
    title: str
    owner: str
    keyed: bool
    openTurn: str


class ChangeFactorRequest(TypedDict):
    password: str
    code: str


class _CheckInRequest(TypedDict):
    taskId: str
    message: str


class CheckInRequest(_CheckInRequest, total=False):
    """CheckInRequest is the body of POST /api/agent, which stores a message and starts its turn. A basic
    frontend sends taskId and message only. messageId (1–128 characters, unique per task) makes the request
    idempotent."""
    artifacts: List[ArtifactInput]
    messageId: str
    bindPrompt: bool
    reach: Reach
    permissionMode: PermissionMode


class _CheckInResponse(TypedDict):
    success: bool
    sessionId: str
    streamToken: str
    streamUrl: str
    messageId: str
    turnId: str
    expiresAt: str


class CheckInResponse(_CheckInResponse, total=False):
    """CheckInResponse is the response to a check-in. A basic frontend reads its first four members."""
    reach: Reach
    capabilities: List[str]


class Choice(TypedDict):
    """Choice is a model or a mode of an agent."""
    id: str
    name: str


class ChooseRequest(TypedDict):
    events: List[NotificationEvent]


class CodeModification(TypedDict):
    """CodeModification is a new version of the source that came with a message."""
    version: int
    description: str
    diff: str


class CodeRequest(TypedDict):
    code: str


class CodeUpdate(TypedDict):
    """CodeUpdate becomes the next version of a source."""
    code: str
    description: str


class _Command(TypedDict):
    name: str


class Command(_Command, total=False):
    """Command is a slash command. An agent runs it when a message begins with "/" and its name."""
    description: str
    arguments: str


class _CommandList(TypedDict):
    commands: List[Command]


class CommandList(_CommandList, total=False):
    """CommandList is the response to GET /session/:id/commands of an agent host, and to GET
    /api/tasks/:id/commands of a broker: the slash commands of a session's agent."""
    problem: str


class _CommitResponse(TypedDict):
    success: bool
    sessionId: str
    commit: str
    branch: str
    files: int
    additions: int
    deletions: int


class CommitResponse(_CommitResponse, total=False):
    """CommitResponse is the response to POST /session/:id/commit of an agent host, and to POST
    /api/tasks/:id/commit of a broker. A repeated request gets the commit that the first one made."""
    innerRepositories: List[str]
    innerRepositoryCount: int


class CommitTaskRequest(TypedDict):
    """CommitTaskRequest is the body of POST /api/tasks/:id/commit of a broker, which adds the author."""
    message: str
    snapshot: str
    head: str


class ContentsResponse(TypedDict):
    """ContentsResponse has a notebook and its sources, newest first."""
    notebook: Notebook
    sources: List[Source]


class Conversation(TypedDict):
    """Conversation has the messages about a source."""
    sourceId: str
    notebookId: str
    userId: str
    agentSessionId: str
    lastMessageAt: Optional[str]
    messages: List[FollowupMessage]


class _CreateRequest(TypedDict):
    agentName: str
    agentIdentifier: str


class CreateRequest(_CreateRequest, total=False):
    """CreateRequest registers an agent."""
    agentIcon: str
    title: str
    description: str
    webhookUrl: str
    webhookSecret: str
    metadata: Dict[str, Any]


class _CreateResponse(TypedDict):
    notebook: Notebook
    agentSession: AgentSession


class CreateResponse(_CreateResponse, total=False):
    """CreateResponse is the same for a new notebook and an existing one. webhookSecret is set only if this
    request registered a webhook; it is never shown again."""
    webhookSecret: str


class _CreateTaskRequest(TypedDict):
    title: str


class CreateTaskRequest(_CreateTaskRequest, total=False):
    """CreateTaskRequest is the body of POST /api/tasks."""
    agent: str
    project: str
    hostId: str
    agentUrl: str
    agentPassword: str
    mode: TaskMode
    model: str
    permissionMode: PermissionMode
    workspace: str
    branch: str


class _CreateTokenRequest(TypedDict):
    name: str


class CreateTokenRequest(_CreateTokenRequest, total=False):
    kind: TokenKind
    agentIdentifier: str
    scopes: List[Scope]
    expiresAt: str


class _CreateWebhookRequest(TypedDict):
    url: str
    events: List[WebhookEvent]


class CreateWebhookRequest(_CreateWebhookRequest, total=False):
    format: WebhookFormat
    secret: str


class Cursor(TypedDict):
    """Cursor names the highest event without a gap before it: seq counts from 1 within an epoch without gaps.
    The zero Cursor {0,0} stands for no event."""
    epoch: int
    seq: int


class _DeliveriesResponse(TypedDict):
    deliveries: List[Delivery]


class DeliveriesResponse(_DeliveriesResponse, total=False):
    nextCursor: str


class _Delivery(TypedDict):
    id: str
    state: State
    kind: str
    event: str
    endpointId: str
    messageId: str
    attempts: List[Attempt]
    expiresAt: str
    createdAt: str


class Delivery(_Delivery, total=False):
    """Delivery is a row of the delivery log as its owner gets it."""
    reason: str
    waiting: bool
    subject: DeliverySubject
    nextAttemptAt: str


class DeliveryResponse(TypedDict):
    delivery: Delivery


class DeliverySubject(TypedDict):
    """DeliverySubject names what a delivery to an agent is about."""
    agentSessionId: str
    agentName: str
    sourceId: str
    sourceTitle: str
    question: str


class Diagnostic(TypedDict):
    """Diagnostic is one finding of a parser. line and column start at 1; they are 0 if the parser does not
    report them."""
    line: int
    column: int
    message: str
    severity: str


class _DiffResponse(TypedDict):
    success: bool


class DiffResponse(_DiffResponse, total=False):
    """DiffResponse is the broker's response to POST /api/agent/diff. message has the diff as its DIFF
    artifact. noDiffs means that there is no new diff: with unchangedSince nothing changed since the diff in
    the message of that seq, without it there are no changes at all."""
    noDiffs: bool
    message: Message
    unchangedSince: int
    snapshot: str
    head: str


class DiscardHunk(TypedDict):
    """DiscardHunk is a part of the changes of a file, as the patch of a diff has it."""
    path: str
    text: str


class _DiscardRequest(TypedDict):
    snapshot: str


class DiscardRequest(_DiscardRequest, total=False):
    """DiscardRequest is the body of POST /session/:id/discard of an agent host, and of POST
    /api/tasks/:id/discard of a broker. It has either paths or a hunk."""
    paths: List[str]
    hunk: DiscardHunk


class DiscardResponse(TypedDict):
    """DiscardResponse is the response to a DiscardRequest."""
    success: bool
    sessionId: str
    files: int


class EnrolmentResponse(TypedDict):
    """EnrolmentResponse has the secret twice: as text, and as the content of a QR code."""
    secret: str
    uri: str


class _Event(TypedDict):
    type: EventType


class Event(_Event, total=False):
    """Event is one persisted fact: the host posts it to the webhook and keeps it in its journal. Protocol
    section 1.4 lists the members of each type; Validate checks them. eventId, epoch, seq and turnId are
    absent in the events of a basic host. Use ParseEvent to read an Event. json.Unmarshal alone does not check
    it."""
    sessionId: str
    eventId: str
    epoch: int
    seq: int
    turnId: str
    timestamp: Any
    origin: str
    id: str
    text: str
    format: str
    metadata: Any
    toolCallId: str
    toolName: str
    input: Any
    output: Any
    isError: bool
    denied: bool
    truncated: bool
    finishReason: FinishReason
    reason: str
    totalUsage: Any
    status: Status
    interactionId: str
    state: InteractionState
    kind: InteractionKind
    prompt: str
    args: Any
    level: str
    warning: str
    default: str
    options: List[str]
    expiresAt: str
    answer: InteractionAnswer
    message: str
    code: str


class Failure(TypedDict):
    """Failure is a message that did not reach the agent, or that the agent refused, as the user's own
    webhooks get it."""
    sourceId: str
    agentSessionId: str
    messageId: str
    delivered: bool
    failure: str


class FeedPosition(TypedDict):
    """FeedPosition is the rev that a feed of a task begins after."""
    rev: int


class FetchResponse(TypedDict):
    """FetchResponse is the response to POST /session/:id/fetch of an agent host, and to POST
    /api/tasks/:id/fetch of a broker. The commits that it names are in the workspace, under
    refs/remotes/origin."""
    success: bool
    sessionId: str
    branch: str
    base: str
    diverged: str
    baseCommit: str


class _FileContent(TypedDict):
    path: str
    kind: ContentKind
    mediaType: str
    size: int
    offset: int
    end: int


class FileContent(_FileContent, total=False):
    """FileContent is the response to GET /session/:id/file of an agent host, and to GET /api/tasks/:id/file
    of a broker: a file of a workspace, or a piece of a long text."""
    text: str
    data: str
    more: bool
    note: str


class _FileEntry(TypedDict):
    name: str
    kind: FileKind


class FileEntry(_FileEntry, total=False):
    """FileEntry is an entry of a directory of a workspace."""
    size: int
    target: str
    ignored: bool


class _FileList(TypedDict):
    path: str
    entries: List[FileEntry]
    total: int


class FileList(_FileList, total=False):
    """FileList is the response to GET /session/:id/files of an agent host, and to GET /api/tasks/:id/files of
    a broker: a page of a directory, directories first."""
    next: str
    unnamed: int
    cut: bool


class _FileMatch(TypedDict):
    path: str
    line: int
    match: str


class FileMatch(_FileMatch, total=False):
    """FileMatch is a line that a search found. before, match and after are parts of the line."""
    before: str
    after: str


class _FileMatches(TypedDict):
    matches: List[FileMatch]
    files: int


class FileMatches(_FileMatches, total=False):
    """FileMatches is the response to GET /session/:id/search of an agent host, and to GET
    /api/tasks/:id/search of a broker."""
    skipped: int
    more: bool


class FillTemplateRequest(TypedDict):
    """FillTemplateRequest is the body of POST /api/templates/:id/fill."""
    values: Dict[str, str]


class FilledTemplate(TypedDict):
    """FilledTemplate is the answer: the prompt with its values, and where and how the task runs. What the
    template names and no host offers any more is in gone, and left out of task."""
    prompt: str
    task: CreateTaskRequest
    gone: List[TemplateGone]


class _Finding(TypedDict):
    check: str
    level: Level
    message: str


class Finding(_Finding, total=False):
    """Finding is the result of one check."""
    where: str
    remedy: str


class _FinishTurnRequest(TypedDict):
    taskId: str
    turnId: str


class FinishTurnRequest(_FinishTurnRequest, total=False):
    """FinishTurnRequest is the body of POST /api/agent/finish: the end of a turn of a basic host, as a
    frontend read it in the stream. An empty finishReason is `stop`."""
    finishReason: FinishReason
    reason: str


class _Followup(TypedDict):
    id: str
    sourceId: str
    sourceTitle: str
    sourceVersion: int
    sourceLanguage: str
    content: str
    timestamp: str
    conversationHistory: List[FollowupMessage]


class Followup(_Followup, total=False):
    """Followup is a user's question that waits for the agent's answer. In a list, sourceCode and
    originalContext are sent once per source: sourceCodeIn names the message that has them. sourceCodeOmitted
    reports code beyond the list's total size. conversationHistory begins with the agent's last answer before
    the question, and a list has each of its messages once."""
    sourceCode: str
    sourceCodeIn: str
    sourceCodeOmitted: bool
    originalContext: str
    attachments: List[FollowupAttachment]


class FollowupAnsweredWebhook(TypedDict):
    type: WebhookEvent
    taskId: str
    turnId: str
    timestamp: str
    data: Answer


class FollowupAttachment(TypedDict):
    """FollowupAttachment is text that comes with a question or an answer. type is a media type."""
    name: str
    type: str
    content: str


class _FollowupDelivery(TypedDict):
    type: str
    sourceId: str
    sourceTitle: str
    sourceCode: str
    sourceLanguage: str
    message: str
    conversationHistory: List[FollowupMessage]
    userId: str
    timestamp: str
    messageId: str


class FollowupDelivery(_FollowupDelivery, total=False):
    """FollowupDelivery is the body of a webhook to an agent."""
    attachments: List[FollowupAttachment]


class FollowupFailedWebhook(TypedDict):
    type: WebhookEvent
    taskId: str
    turnId: str
    timestamp: str
    data: Failure


class FollowupMessage(TypedDict):
    """FollowupMessage is a message of the conversation about a source."""
    id: str
    sourceId: str
    role: FollowupRole
    content: str
    timestamp: str
    metadata: FollowupMetadata


class _FollowupMetadata(TypedDict):
    delivered: bool
    read: bool


class FollowupMetadata(_FollowupMetadata, total=False):
    """FollowupMetadata is the state of a message. A user's message is delivered when the agent has it, and
    read when the agent has answered. An agent's message is read when the user's page has shown it. failure
    says why a message was not delivered or, if it was, why the agent refused it. progress is set while a
    message is on its way to a webhook."""
    inReplyTo: str
    failure: str
    progress: FollowupProgress
    codeModification: CodeModification
    attachments: List[FollowupAttachment]


class _FollowupProgress(TypedDict):
    state: ProgressState
    attempts: int


class FollowupProgress(_FollowupProgress, total=False):
    """FollowupProgress says how far the delivery of a message is. lastError is of the last attempt."""
    nextAttemptAt: str
    lastError: str


class FollowupsResponse(TypedDict):
    """FollowupsResponse has the unanswered messages, oldest first."""
    messages: List[Followup]


class _ForgeCredential(TypedDict):
    forge: str
    token: str


class ForgeCredential(_ForgeCredential, total=False):
    """ForgeCredential is a user's own token for a forge. It is the body of POST /api/forge-tokens of a
    broker, and a part of the bodies that a broker sends to a host for one act of the user."""
    kind: ForgeKind


class ForgeToken(TypedDict):
    """ForgeToken is a user's own token for a forge, without the token itself: a broker never shows that
    again."""
    id: str
    forge: str
    kind: ForgeKind
    createdAt: str
    lastUsedAt: Optional[str]


class ForgeTokenList(TypedDict):
    """ForgeTokenList is the response to GET /api/forge-tokens."""
    tokens: List[ForgeToken]


class _GetResponse(TypedDict):
    source: Source


class GetResponse(_GetResponse, total=False):
    """GetResponse has a source with its code. messages are the newest, oldest first."""
    messages: List[FollowupMessage]


class _Host(TypedDict):
    id: str
    name: str
    url: str
    health: HostHealth
    reach: Reach
    openTurns: int
    createdAt: str


class Host(_Host, total=False):
    """Host is an agent host registered with the broker."""
    owedEnds: int
    copy: HostCopy


class HostCopy(TypedDict):
    """HostCopy is a second copy of a host: it runs on a copy of the host's data and sends events to the
    broker, which serves the one at the host's URL."""
    place: str
    seenAt: str


class HostNotice(TypedDict):
    """HostNotice is a notice of an agent host itself. Its limits are those of an announcement."""
    id: str
    level: AnnouncementLevel
    text: str


class _HostOffer(TypedDict):
    defaultAgent: str
    agents: List[OfferedAgent]
    projects: List[OfferedProject]
    permissionModes: List[PermissionMode]


class HostOffer(_HostOffer, total=False):
    """HostOffer is what tasks on an agent host can choose from: the response to GET /offer of a host. It has
    no secret and no path of the machine."""
    notices: List[HostNotice]
    sandbox: OfferedSandbox
    version: str


class HostPatch(TypedDict, total=False):
    """HostPatch changes the members that are not nil."""
    name: str
    url: str
    password: str
    reach: Reach


class _HostRequest(TypedDict):
    name: str
    url: str
    password: str


class HostRequest(_HostRequest, total=False):
    """HostRequest registers a host."""
    reach: Reach


class HostWorkspaceList(TypedDict):
    """HostWorkspaceList is the response to GET /api/workspaces: the caller's workspaces on every registered
    host."""
    hosts: List[WorkspaceHost]


class _HostsResponse(TypedDict):
    hosts: List[Host]


class HostsResponse(_HostsResponse, total=False):
    notices: List[str]


class _IngestResponse(TypedDict):
    success: bool
    accepted: int
    duplicates: int
    cursor: Optional[Cursor]


class IngestResponse(_IngestResponse, total=False):
    """IngestResponse is the response of the webhook. cursor is null for events of a basic host."""
    incarnation: str


class InstallRequest(TypedDict):
    """InstallRequest has a host install the program of an agent."""
    program: str


class _Installation(TypedDict):
    id: str
    program: str
    title: str
    version: str
    state: InstallationState
    done: int
    total: int
    startedAt: str
    lines: List[str]


class Installation(_Installation, total=False):
    """Installation is the last installation of an agent's program on a host."""
    step: InstallationStep
    endedAt: str
    error: str
    code: Code
    hint: str


class InstallationList(TypedDict):
    """InstallationList is the response to GET /installations of a host and to GET
    /api/hosts/:id/installations of a broker."""
    allowed: bool
    installations: List[Installation]


class _Interaction(TypedDict):
    id: str
    taskId: str
    taskTitle: str
    turnId: str
    state: InteractionState
    kind: InteractionKind
    prompt: str
    createdAt: str


class Interaction(_Interaction, total=False):
    """Interaction is a question to the user, as the broker's API returns it."""
    toolCallId: str
    toolName: str
    args: Any
    level: str
    warning: str
    default: str
    options: List[str]
    expiresAt: str
    answer: InteractionAnswer


class InteractionAnswer(TypedDict, total=False):
    """InteractionAnswer is the user's answer: approved for confirm, text for ask."""
    approved: bool
    text: str
    reason: str
    remembered: str
    by: str


class _InteractionOpened(TypedDict):
    title: str
    interactionId: str
    kind: InteractionKind
    prompt: str


class InteractionOpened(_InteractionOpened, total=False):
    """InteractionOpened is the data of a webhook about a question to the user."""
    toolName: str
    level: str
    warning: str
    options: List[str]
    expiresAt: str


class InteractionOpenedWebhook(TypedDict):
    type: WebhookEvent
    taskId: str
    turnId: str
    timestamp: str
    data: InteractionOpened


class InteractionsResponse(TypedDict):
    interactions: List[Interaction]


class _InterruptRequest(TypedDict):
    taskId: str


class InterruptRequest(_InterruptRequest, total=False):
    """InterruptRequest is the body of POST /api/agent/interrupt. turnId is the only turn to stop; "": the one
    that is open."""
    turnId: str


class _InterruptResponse(TypedDict):
    success: bool


class InterruptResponse(_InterruptResponse, total=False):
    """InterruptResponse is the broker's response to POST /api/agent/interrupt. closeStream means that the
    host is basic: it stops when the reader of its stream disconnects."""
    closeStream: bool


class Keys(TypedDict):
    p256dh: str
    auth: str


class LastTurn(TypedDict):
    """LastTurn describes how a task's newest closed turn ended."""
    id: str
    finishReason: FinishReason
    reason: str
    usage: Any


class ListResponse(TypedDict):
    publicKey: str
    subscriptions: List[NotificationSubscription]


class LoginRequest(TypedDict, total=False):
    email: str
    password: str
    code: str
    link: str


class _Message(TypedDict):
    id: str
    seq: int
    rev: int
    taskId: str
    turnId: str
    role: Role
    status: MessageStatus
    message: str
    artifacts: List[Artifact]
    eventId: str
    createdAt: str


class Message(_Message, total=False):
    """Message is one row of a task's history. Its text is "" on tool rows. seq is its position in the task,
    rev the task's rev at the row's last change."""
    format: str
    metadata: Any
    timestamp: Any
    origin: str


class _MessageList(TypedDict):
    messages: List[Message]
    nextAfter: int
    rev: int


class MessageList(_MessageList, total=False):
    """MessageList is a page of messages, ascending by seq."""
    behind: bool
    turns: List[LastTurn]
    interactions: List[Interaction]


class MessageResponse(TypedDict):
    """MessageResponse has one message."""
    message: FollowupMessage


class _Notebook(TypedDict):
    id: str
    userId: str
    title: str
    description: str
    agentName: str
    agentIcon: str
    agentSessionId: str
    agentStatus: AgentSessionStatus
    isAgentNotebook: bool
    createdAt: str


class Notebook(_Notebook, total=False):
    """Notebook has the sources that one agent saved for one user. agentStatus is the state of that agent's
    connection. unread counts the agent's messages and the failures that the user's page has not shown; only
    routes of the user have it."""
    unread: int


class NotebooksResponse(TypedDict):
    """NotebooksResponse has a user's notebooks, newest first."""
    notebooks: List[Notebook]


class _NotificationSubscription(TypedDict):
    id: str
    browser: str
    service: str
    events: List[NotificationEvent]
    current: bool
    createdAt: str


class NotificationSubscription(_NotificationSubscription, total=False):
    """NotificationSubscription is a browser that gets notifications, as its user sees it."""
    lastDeliveredAt: str


class _OauthError(TypedDict):
    error: str
    error_description: str


class OauthError(_OauthError, total=False):
    code: Code
    hint: str


class _OfferList(TypedDict):
    agents: List[OfferedChoice]
    hosts: List[OfferingHost]


class OfferList(_OfferList, total=False):
    """OfferList is the response to GET /api/agents: what the registered hosts offer."""
    defaultAgent: str


class _OfferedAgent(TypedDict):
    id: str
    title: str
    kind: str
    installed: bool
    models: List[Choice]
    modes: List[Choice]


class OfferedAgent(_OfferedAgent, total=False):
    """OfferedAgent is an agent of a host, also one whose program is missing there."""
    version: str
    hasKey: bool
    keys: List[str]
    program: str
    scripted: bool
    defaultModel: str
    attachments: List[str]
    problem: str
    hint: str


class OfferedChoice(TypedDict):
    """OfferedChoice is an agent that a task can name."""
    id: str
    title: str
    hostIds: List[str]


class _OfferedProject(TypedDict):
    name: str
    isRepository: bool
    branches: List[str]


class OfferedProject(_OfferedProject, total=False):
    """OfferedProject is a project of a host."""
    defaultBranch: str
    shared: bool
    problem: str


class OfferedSandbox(TypedDict):
    """OfferedSandbox is the level of a host's sandbox, as measured at its start. Its texts are fixed words:
    reasons, which may have paths of the machine, are in the host's /status alone."""
    state: SandboxState
    landlock: int
    namespaces: bool
    network: str
    ownUser: bool
    limits: List[str]
    open: List[str]


class _OfferingHost(TypedDict):
    hostId: str
    name: str
    online: bool


class OfferingHost(_OfferingHost, total=False):
    """OfferingHost is a registered host with its last offer."""
    offeredAt: str
    offer: HostOffer
    problem: str


class OnlyCopies(TypedDict):
    """OnlyCopies is what exists only in a workspace, so that deleting the workspace would lose it. Without
    items that is nothing."""
    id: str
    items: List[OnlyCopy]


class OnlyCopy(TypedDict):
    """OnlyCopy is a file, directory, ref or repository that exists only in a workspace."""
    kind: OnlyCopyKind
    name: str
    count: int


class Orphan(TypedDict):
    """Orphan is a session of a host whose task the broker does not have."""
    session: BoundSession
    hostId: str
    hostName: str
    email: str


class OrphanList(TypedDict):
    """OrphanList is the response of GET /api/orphans. unreachable names the hosts that could not be asked."""
    orphans: List[Orphan]
    unreachable: List[str]


class OutboundWebhookResponse(TypedDict):
    webhook: Webhook


class _Part(TypedDict):
    type: str


class Part(_Part, total=False):
    """Part is one element of the native stream: the AI SDK's TextStreamPart as JSON (see
    docs/architecture.md). One struct has the members of all types; absent ones are left out of the JSON.
    event is set on the part that completes a persisted event, so that a client can merge stream and history."""
    id: str
    text: str
    format: str
    metadata: Any
    timestamp: Any
    toolCallId: str
    toolName: str
    input: Any
    output: Any
    dynamic: bool
    approvalId: str
    toolCall: ToolCall
    approved: bool
    prompt: str
    expiresAt: str
    security_warning: SecurityWarning
    finishReason: FinishReason
    rawFinishReason: str
    totalUsage: Any
    reason: str
    error: Any
    data: Any
    event: PartEvent


class PartEvent(TypedDict):
    """PartEvent links a part to the event that it completes."""
    id: str
    seq: int
    turnId: str


class PasswordRequest(TypedDict):
    current: str
    password: str


class _PathList(TypedDict):
    paths: List[str]


class PathList(_PathList, total=False):
    """PathList is the response to GET /session/:id/paths and GET /projects/:project/paths of an agent host,
    and to GET /api/tasks/:id/paths and GET /api/paths of a broker: the files that a message can name."""
    more: bool
    problem: str


class _Problem(TypedDict):
    error: str
    code: Code


class Problem(_Problem, total=False):
    """Problem is the body of every error. The members after hint belong to single routes."""
    hint: str
    cursor: Cursor
    index: int
    incarnation: str
    time: int
    messageId: str
    turnId: str
    usedBy: str


class _PromptRequest(TypedDict):
    prompt: str


class PromptRequest(_PromptRequest, total=False):
    """PromptRequest is the body of POST /stream/:sessionId on the agent host."""
    attachments: List[Attachment]
    whenBusy: str
    force: bool


class PullRequest(TypedDict):
    """PullRequest is a pull request of a task; at GitLab a merge request."""
    url: str
    number: int
    title: str
    body: str


class PullRequestRequest(TypedDict):
    """PullRequestRequest is the body of POST /session/:id/pull-request of an agent host, and of POST
    /api/tasks/:id/pull-request of a broker."""
    title: str
    body: str


class PullRequestResponse(TypedDict):
    """PullRequestResponse is the response to a PullRequestRequest."""
    success: bool
    sessionId: str
    url: str
    number: int
    created: bool
    branch: str
    base: str


class PushRequest(TypedDict, total=False):
    """PushRequest is the body of POST /session/:id/push of an agent host, and of POST /api/tasks/:id/push of
    a broker."""
    replaces: str


class PushResponse(TypedDict):
    """PushResponse is the response to a PushRequest. A repeated request gets it again."""
    success: bool
    sessionId: str
    commit: str
    branch: str
    remote: str
    replaced: str


class _Queue(TypedDict):
    messages: List[QueuedMessage]
    rev: int


class Queue(_Queue, total=False):
    """Queue is the answer to GET /api/tasks/:id/queue, the next message first."""
    paused: QueuePause
    reason: str


class QueueChange(TypedDict, total=False):
    """QueueChange is the body of PATCH /api/tasks/:id/queue: false resumes the queue."""
    paused: bool


class _QueueMessageRequest(TypedDict):
    message: str


class QueueMessageRequest(_QueueMessageRequest, total=False):
    """QueueMessageRequest is the body of POST /api/tasks/:id/queue. messageId makes the request idempotent,
    as in a check-in."""
    messageId: str
    artifacts: List[ArtifactInput]
    attachments: List[Attachment]


class _QueuedAttachment(TypedDict):
    type: str
    mediaType: str
    bytes: int


class QueuedAttachment(_QueuedAttachment, total=False):
    """QueuedAttachment describes an attachment of a queued message. bytes is the size of its content."""
    name: str


class _QueuedMessage(TypedDict):
    id: str
    message: str
    state: QueuedState
    createdAt: str


class QueuedMessage(_QueuedMessage, total=False):
    """QueuedMessage is a message that the broker sends when the agent is idle. id is the message's id, in the
    queue and in the task's history."""
    artifacts: List[ArtifactInput]
    attachments: List[QueuedAttachment]
    failure: str
    retryAt: str


class QueuedMessageChange(TypedDict, total=False):
    """QueuedMessageChange is the body of PATCH /api/tasks/:id/queue/:messageId. position counts the waiting
    messages from 0; one beyond the last is the last."""
    message: str
    position: int


class ReadRequest(TypedDict):
    """ReadRequest names the last message that the user's page has shown."""
    messageId: str


class _Readiness(TypedDict):
    status: str


class Readiness(_Readiness, total=False):
    """Readiness is the answer of /healthz and /readyz, on broker and host."""
    storage: StorageState


class ReauthenticateRequest(TypedDict):
    password: str


class RecoveryCodesResponse(TypedDict):
    recoveryCodes: List[str]


class _RemoteState(TypedDict):
    address: str
    ahead: int


class RemoteState(_RemoteState, total=False):
    """RemoteState is what the host knows of the remote to which it pushes a workspace's branch."""
    base: str
    pushed: str
    diverged: str
    forge: ForgeKind
    pullRequest: PullRequest
    takesToken: bool
    baseMoved: bool


class _RenewResponse(TypedDict):
    webhookUrl: str
    expiresAt: str


class RenewResponse(_RenewResponse, total=False):
    """RenewResponse is the response to the renewal of a webhook token (protocol 1.5). cursor is the task's: a
    host that is ahead of it rewinds."""
    cursor: Cursor
    incarnation: str


class Report(TypedDict):
    """Report is what all checks found."""
    ok: bool
    findings: List[Finding]


class _RespondRequest(TypedDict):
    response: str


class RespondRequest(_RespondRequest, total=False):
    """RespondRequest answers a user's message."""
    codeUpdate: CodeUpdate
    attachments: List[FollowupAttachment]


class RespondResponse(TypedDict):
    """RespondResponse has the agent's message and its source as it is now."""
    message: FollowupMessage
    source: Source


class RestartResponse(TypedDict):
    """RestartResponse is the response to POST /api/agent/restart, and to POST /session/:id/restart on the
    agent host. endedTurn is the turn that was open, "" for none."""
    success: bool
    sessionId: str
    endedTurn: str


Resume = TypedDict(
    "Resume",
    {
        "verdict": "str",
        "from": "str",
        "to": "str",
        "openInteractions": "List[str]",
    },
    total=False,
)


class RotateRequest(TypedDict, total=False):
    secret: str


class _SaveRequest(TypedDict):
    notebookId: str
    title: str
    code: str
    context: str


class SaveRequest(_SaveRequest, total=False):
    """SaveRequest is code with the reason it was written."""
    language: str
    metadata: Dict[str, Any]


class SecondFactor(TypedDict):
    """SecondFactor is what users see of their own. enabledAt is null without one."""
    enabledAt: Optional[str]
    recoveryCodes: int


class SecurityWarning(TypedDict):
    """SecurityWarning describes the danger of a confirmed call."""
    level: str
    message: str


class SessionResponse(TypedDict):
    """SessionResponse has one agent session."""
    agentSession: AgentSession


class SessionWorkspace(TypedDict):
    """SessionWorkspace is the response to GET /session/:id/workspace of an agent host, and to GET
    /api/tasks/:id/workspace of a broker."""
    workspace: Optional[WorkspaceState]


class SessionsResponse(TypedDict):
    """SessionsResponse has a user's agent sessions, newest first."""
    agentSessions: List[AgentSession]


class _Share(TypedDict):
    id: str
    taskId: str
    taskTitle: str
    title: str
    createdAt: str
    expiresAt: str
    lastUsedAt: Optional[str]


class Share(_Share, total=False):
    """Share is a share link, as its owner sees it. token and url are set only in the response that created
    it."""
    token: str
    url: str


class ShareList(TypedDict):
    """ShareList is the answer of GET /api/shares and GET /api/tasks/:id/shares, the newest link first."""
    shares: List[Share]


class ShareRequest(TypedDict, total=False):
    """ShareRequest is the body of POST /api/tasks/:id/shares."""
    expiresIn: int


class SharedTranscript(TypedDict):
    """SharedTranscript is a page of a transcript, as readers of a share link see it: without secrets, files,
    the words of answers, and what came after it was shared."""
    title: str
    sharedAt: str
    expiresAt: str
    messages: List[Message]
    nextAfter: int
    more: bool
    turns: List[LastTurn]
    interactions: List[Interaction]


class SignIn(TypedDict):
    """SignIn is a session of a browser."""
    id: str
    userAgent: str
    address: str
    beganAt: str
    lastUsedAt: str
    expiresAt: str
    current: bool


class SignInsResponse(TypedDict):
    signIns: List[SignIn]


class _Source(TypedDict):
    id: str
    userId: str
    notebookId: str
    title: str
    type: str
    content: str
    version: int
    metadata: SourceMetadata


class Source(_Source, total=False):
    """Source is a piece of code in a notebook, at its newest version. In lists, content is left out (and
    contentOmitted set) beyond a total size. unread is as in Notebook."""
    contentOmitted: bool
    unread: int


class _SourceMetadata(TypedDict):
    language: str
    isVerified: bool
    verification: Optional[Verification]
    verifiedAt: Optional[str]
    agentSessionId: str
    agentName: str
    agentStatus: AgentSessionStatus
    originalContext: str


class SourceMetadata(_SourceMetadata, total=False):
    """SourceMetadata describes a source. isVerified is true only for the verdict "verified". verification is
    null until a version was verified."""
    custom: Dict[str, Any]


class SourceResponse(TypedDict):
    """SourceResponse has one source."""
    source: Source


class _SourceVersion(TypedDict):
    version: int
    content: str
    diff: str
    description: str
    author: str
    verification: Optional[Verification]
    createdAt: str


class SourceVersion(_SourceVersion, total=False):
    """SourceVersion is one state of a source's code; diff is unified, against the version before. In lists,
    both are left out (and contentOmitted set) beyond a total size."""
    contentOmitted: bool
    messageId: str


class SourcesResponse(TypedDict):
    """SourcesResponse has sources, newest first."""
    sources: List[Source]


class _SubscribeRequest(TypedDict):
    endpoint: str
    keys: Keys


class SubscribeRequest(_SubscribeRequest, total=False):
    events: List[NotificationEvent]


class SubscriptionResponse(TypedDict):
    subscription: NotificationSubscription


class SuccessResponse(TypedDict):
    """SuccessResponse is the response of a call that returns no data."""
    success: bool


class _Task(TypedDict):
    id: str
    title: str
    mode: TaskMode
    agent: str
    project: str
    hostId: str
    agentUrl: str
    agentStatus: Status
    reason: str
    openTurn: Optional[str]
    lastTurn: Optional[LastTurn]
    openInteractions: int
    readRev: int
    rev: int
    archived: bool
    createdAt: str
    lastActivityAt: str


class Task(_Task, total=False):
    """Task is a task, as the broker's API returns it."""
    basicHost: bool
    queue: TaskQueue
    model: str
    permissionMode: PermissionMode
    workspace: str
    branch: str


class _TaskDeletion(TypedDict):
    success: bool


class TaskDeletion(_TaskDeletion, total=False):
    """TaskDeletion is the response to DELETE /api/tasks/:id on the broker."""
    kept: OnlyCopies
    pending: bool


class TaskHint(TypedDict):
    """TaskHint is a frame of the user's feed. It reports that the task has changed."""
    taskId: str
    rev: int
    agentStatus: Status
    reason: str
    openInteractions: int


class TaskIDRequest(TypedDict):
    """TaskIDRequest is the body of POST /api/agent/interrupt, /api/agent/restart and /api/agent/diff."""
    taskId: str


class TaskList(TypedDict):
    """TaskList is a page of tasks. nextCursor is opaque, and "" on the last page."""
    tasks: List[Task]
    nextCursor: str


class TaskPatch(TypedDict, total=False):
    """TaskPatch changes the members that are not nil."""
    mode: TaskMode
    title: str
    archived: bool
    readRev: int
    agent: str
    project: str
    branch: str
    model: str
    hostId: str
    agentUrl: str
    agentPassword: str
    permissionMode: PermissionMode


class _TaskQueue(TypedDict):
    messages: int
    rev: int


class TaskQueue(_TaskQueue, total=False):
    """TaskQueue describes a task's queued messages, in the task. rev changes with each change of the queue."""
    paused: QueuePause
    reason: str


class TaskUsage(TypedDict):
    """TaskUsage is the response to GET /api/tasks/:id/usage of a broker: the sums over a task's closed turns."""
    turns: int
    unreported: int
    usage: Usage


class _Template(TypedDict):
    id: str
    name: str
    prompt: str
    createdAt: str
    updatedAt: str


class Template(_Template, total=False):
    """Template is a task template, also as the body of POST /api/templates and PUT /api/templates/:id. There
    id and times are ignored: the broker sets them."""
    variables: List[TemplateVariable]
    forAll: bool
    agent: str
    model: str
    project: str
    hostId: str
    branch: str
    permissionMode: PermissionMode


class TemplateGone(TypedDict):
    """TemplateGone is a member of a template whose value no host offers."""
    member: str
    value: str


class TemplateList(TypedDict):
    """TemplateList has the templates that a user sees, by name: their own, and those for all users."""
    templates: List[Template]


class _TemplateVariable(TypedDict):
    name: str


class TemplateVariable(_TemplateVariable, total=False):
    """TemplateVariable is what a template asks for. The prompt has {{name}} in its place."""
    default: str
    required: bool
    choices: List[str]


class TokensResponse(TypedDict):
    tokens: List[ApiToken]
    maxLifetime: int


class ToolCall(TypedDict):
    """ToolCall is the call inside an approval request."""
    type: str
    toolCallId: str
    toolName: str
    input: Any


class _ToolUse(TypedDict):
    toolCallId: str
    toolName: str
    input: Any
    output: Any
    isError: bool
    state: ToolState


class ToolUse(_ToolUse, total=False):
    """ToolUse is the content of a TOOL_USE artifact."""
    startedAt: int
    endedAt: int


class TurnFinished(TypedDict):
    """TurnFinished is the data of a webhook about a turn that ended."""
    title: str
    finishReason: FinishReason
    reason: str
    usage: Any


class TurnFinishedWebhook(TypedDict):
    type: WebhookEvent
    taskId: str
    turnId: str
    timestamp: str
    data: TurnFinished


class _TurnPrompt(TypedDict):
    turnId: str
    text: str
    at: str


class TurnPrompt(_TurnPrompt, total=False):
    """TurnPrompt is what a turn was asked, from its host's journal. A host adds it to events that it sends
    again, so that a broker whose database went back in time gets the user's message back. messageId is ""
    when the broker did not send it."""
    messageId: str
    truncated: bool


class _UpdateRequest(TypedDict):
    code: str


class UpdateRequest(_UpdateRequest, total=False):
    """UpdateRequest is new code for a source."""
    description: str
    baseVersion: int


class UpdateUserRequest(TypedDict, total=False):
    disabled: bool


class Usage(TypedDict, total=False):
    """Usage is what a turn used. It is read from the object totalUsage of a finish event, which has the
    member names of the AI SDK and three more: costUSD, contextTokens, contextWindow. Agents report different
    members; 0 = not reported."""
    inputTokens: int
    cachedInputTokens: int
    outputTokens: int
    reasoningTokens: int
    totalTokens: int
    costUSD: float
    contextTokens: int
    contextWindow: int


class User(TypedDict):
    id: str
    email: str
    admin: bool
    createdAt: str


class _UserFeedState(TypedDict):
    tasks: List[TaskHint]


class UserFeedState(_UserFeedState, total=False):
    """UserFeedState has the newest tasks and agent sessions when a feed of a user begins."""
    agentSessions: List[AgentHint]


class UserResponse(TypedDict):
    user: User


class _UsersResponse(TypedDict):
    users: List[Account]


class UsersResponse(_UsersResponse, total=False):
    nextCursor: str


class _Verification(TypedDict):
    language: str
    verdict: Verdict
    summary: str
    tool: str
    toolVersion: str
    diagnostics: List[Diagnostic]
    verifiedAt: Optional[str]
    digest: str


class Verification(_Verification, total=False):
    """Verification is the result of a parser or compiler front end. The code was not run. claim and
    verifiedAt are set only for the verdict "verified". reason says why code was not checked, or not further
    than claim. summary is a sentence for people."""
    claim: Claim
    reason: str


class _VerifyRequest(TypedDict):
    code: str


class VerifyRequest(_VerifyRequest, total=False):
    """VerifyRequest asks for a verification; nothing is saved."""
    language: str


class VersionResponse(TypedDict):
    """VersionResponse has one version of a source."""
    version: SourceVersion


class VersionsResponse(TypedDict):
    """VersionsResponse has the versions of a source, oldest first."""
    versions: List[SourceVersion]


class _Webhook(TypedDict):
    id: str
    url: str
    events: List[WebhookEvent]
    disabled: bool
    createdAt: str


class Webhook(_Webhook, total=False):
    """Webhook is an endpoint for task events as its owner gets it. secret is present only in the response
    that created or rotated it."""
    format: WebhookFormat
    secret: str
    disabledReason: str


class _WebhookBatch(TypedDict):
    sessionId: str
    events: List[Any]


class WebhookBatch(_WebhookBatch, total=False):
    """WebhookBatch is a webhook body with several events. The broker stores all of them or none. prompts
    belong to turns of these events."""
    prompts: List[TurnPrompt]


class _WebhookRequest(TypedDict):
    agentSessionId: str
    url: str


class WebhookRequest(_WebhookRequest, total=False):
    """WebhookRequest registers an agent's webhook."""
    secret: str


class WebhookResponse(TypedDict):
    """WebhookResponse has the secret, which is never shown again."""
    url: str
    secret: str


class WebhooksResponse(TypedDict):
    webhooks: List[Webhook]


class _Workspace(TypedDict):
    name: str
    project: str
    branch: str
    dirty: bool
    unpushed: int
    metadata: Dict[str, str]
    createdAt: str
    createdBy: str


class Workspace(_Workspace, total=False):
    """Workspace is a workspace that an agent created by name. It belongs to the user of the session."""
    usedBy: str


class _WorkspaceHost(TypedDict):
    hostId: str
    name: str
    workspaces: List[Workspace]


class WorkspaceHost(_WorkspaceHost, total=False):
    """WorkspaceHost is a registered host with the caller's workspaces there."""
    problem: str


class _WorkspaceState(TypedDict):
    branch: str
    dirty: bool
    metadata: Dict[str, str]


class WorkspaceState(_WorkspaceState, total=False):
    """WorkspaceState is what a workspace holds."""
    dir: str
    ships: List[ShipStep]
    terminal: bool
    remote: RemoteState


class Routes(Server):
    """One method for each route that answers with JSON or text."""

    def get_health(self) -> Readiness:
        """Report that the process responds."""
        return cast("Readiness", self.call("GET", "/healthz"))

    def get_readiness(self) -> Readiness:
        """Report whether requests can be served."""
        return cast("Readiness", self.call("GET", "/readyz"))

    def get_metrics(self) -> str:
        """Metrics as text of Prometheus."""
        return cast("str", self.call("GET", "/metrics", text=True))

    def get_open_api_as_json(self) -> Dict[str, Any]:
        """This document as JSON."""
        return cast("Dict[str, Any]", self.call("GET", "/openapi.json"))

    def sign_in(self, *, email: Optional[str] = None, password: Optional[str] = None, code: Optional[str] = None, link: Optional[str] = None) -> UserResponse:
        """Sign in by password or link. The answer sets the session cookie."""
        return cast("UserResponse", self.call("POST", "/api/auth/login", body=members({"email": email, "password": password, "code": code, "link": link})))

    def sign_out(self) -> SuccessResponse:
        """End the session."""
        return cast("SuccessResponse", self.call("POST", "/api/auth/logout"))

    def get_me(self) -> UserResponse:
        """Get the caller."""
        return cast("UserResponse", self.call("GET", "/api/auth/me"))

    def change_password(self, *, current: str, password: str) -> SuccessResponse:
        """Change the caller's password."""
        return cast("SuccessResponse", self.call("POST", "/api/auth/password", body=members({"current": current, "password": password})))

    def list_own_sign_ins(self) -> SignInsResponse:
        """List the caller's sessions."""
        return cast("SignInsResponse", self.call("GET", "/api/auth/sign-ins"))

    def end_own_sign_in(self, sign_in_id: str) -> SuccessResponse:
        """End a session of the caller."""
        return cast("SuccessResponse", self.call("DELETE", "/api/auth/sign-ins/" + element(sign_in_id)))

    def get_second_factor(self) -> SecondFactor:
        """Describe the caller's second factor."""
        return cast("SecondFactor", self.call("GET", "/api/auth/second-factor"))

    def begin_second_factor(self, *, password: str) -> EnrolmentResponse:
        """Begin a second factor."""
        return cast("EnrolmentResponse", self.call("POST", "/api/auth/second-factor", body=members({"password": password})))

    def confirm_second_factor(self, *, code: str) -> RecoveryCodesResponse:
        """Confirm a second factor by its first code."""
        return cast("RecoveryCodesResponse", self.call("POST", "/api/auth/second-factor/confirm", body=members({"code": code})))

    def renew_recovery_codes(self, *, password: str, code: str) -> RecoveryCodesResponse:
        """Replace the recovery codes."""
        return cast("RecoveryCodesResponse", self.call("POST", "/api/auth/second-factor/recovery-codes", body=members({"password": password, "code": code})))

    def disable_second_factor(self, *, password: str, code: str) -> SuccessResponse:
        """Turn the second factor off."""
        return cast("SuccessResponse", self.call("POST", "/api/auth/second-factor/disable", body=members({"password": password, "code": code})))

    def list_users(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> UsersResponse:
        """List users by e-mail address."""
        return cast("UsersResponse", self.call("GET", "/api/users", query={"cursor": cursor, "limit": limit}))

    def update_user(self, id: str, *, disabled: Optional[bool] = None) -> Account:
        """Disable or enable a user."""
        return cast("Account", self.call("PATCH", "/api/users/" + element(id), body=members({"disabled": disabled})))

    def delete_user(self, id: str) -> SuccessResponse:
        """Delete a user."""
        return cast("SuccessResponse", self.call("DELETE", "/api/users/" + element(id)))

    def list_sign_ins(self, id: str) -> SignInsResponse:
        """List the sessions of a user."""
        return cast("SignInsResponse", self.call("GET", "/api/users/" + element(id) + "/sign-ins"))

    def reset_second_factor(self, id: str) -> SuccessResponse:
        """Remove the second factor of a user."""
        return cast("SuccessResponse", self.call("DELETE", "/api/users/" + element(id) + "/second-factor"))

    def end_sign_in(self, id: str, sign_in_id: str) -> SuccessResponse:
        """End a session of a user."""
        return cast("SuccessResponse", self.call("DELETE", "/api/users/" + element(id) + "/sign-ins/" + element(sign_in_id)))

    def list_tokens(self) -> TokensResponse:
        """List the caller's API tokens."""
        return cast("TokensResponse", self.call("GET", "/api/tokens"))

    def create_token(self, *, name: str, kind: Optional[TokenKind] = None, agent_identifier: Optional[str] = None, scopes: Optional[List[Scope]] = None, expires_at: Optional[str] = None) -> ApiToken:
        """Create an API token. The token is in this answer, and never again."""
        return cast("ApiToken", self.call("POST", "/api/tokens", body=members({"name": name, "kind": kind, "agentIdentifier": agent_identifier, "scopes": scopes, "expiresAt": expires_at})))

    def list_forge_tokens(self) -> ForgeTokenList:
        """List the caller's tokens for forges."""
        return cast("ForgeTokenList", self.call("GET", "/api/forge-tokens"))

    def add_forge_token(self, *, forge: str, token: str, kind: Optional[ForgeKind] = None) -> ForgeToken:
        """Store a token for a forge. It replaces an earlier one for the same forge. No answer has it."""
        return cast("ForgeToken", self.call("POST", "/api/forge-tokens", body=members({"forge": forge, "kind": kind, "token": token})))

    def delete_forge_token(self, id: str) -> SuccessResponse:
        """Remove a token for a forge."""
        return cast("SuccessResponse", self.call("DELETE", "/api/forge-tokens/" + element(id)))

    def delete_token(self, id: str) -> SuccessResponse:
        """Revoke an API token."""
        return cast("SuccessResponse", self.call("DELETE", "/api/tokens/" + element(id)))

    def list_task_shares(self, id: str) -> ShareList:
        """List the share links of the task, the newest first."""
        return cast("ShareList", self.call("GET", "/api/tasks/" + element(id) + "/shares"))

    def create_share(self, id: str, *, expires_in: Optional[int] = None) -> Share:
        """Create a share link of the task. Token and URL are in this answer, and never again."""
        return cast("Share", self.call("POST", "/api/tasks/" + element(id) + "/shares", body=members({"expiresIn": expires_in})))

    def list_shares(self) -> ShareList:
        """List the caller's share links, the newest first."""
        return cast("ShareList", self.call("GET", "/api/shares"))

    def revoke_share(self, id: str) -> SuccessResponse:
        """End a share link."""
        return cast("SuccessResponse", self.call("DELETE", "/api/shares/" + element(id)))

    def list_templates(self) -> TemplateList:
        """List the templates that the caller sees, by name."""
        return cast("TemplateList", self.call("GET", "/api/templates"))

    def create_template(self, *, id: str, name: str, prompt: str, created_at: str, updated_at: str, variables: Optional[List[TemplateVariable]] = None, for_all: Optional[bool] = None, agent: Optional[str] = None, model: Optional[str] = None, project: Optional[str] = None, host_id: Optional[str] = None, branch: Optional[str] = None, permission_mode: Optional[PermissionMode] = None) -> Template:
        """Create a template."""
        return cast("Template", self.call("POST", "/api/templates", body=members({"id": id, "name": name, "prompt": prompt, "variables": variables, "forAll": for_all, "agent": agent, "model": model, "project": project, "hostId": host_id, "branch": branch, "permissionMode": permission_mode, "createdAt": created_at, "updatedAt": updated_at})))

    def update_template(self, id: str, *, id_: str, name: str, prompt: str, created_at: str, updated_at: str, variables: Optional[List[TemplateVariable]] = None, for_all: Optional[bool] = None, agent: Optional[str] = None, model: Optional[str] = None, project: Optional[str] = None, host_id: Optional[str] = None, branch: Optional[str] = None, permission_mode: Optional[PermissionMode] = None) -> Template:
        """Replace a template."""
        return cast("Template", self.call("PUT", "/api/templates/" + element(id), body=members({"id": id_, "name": name, "prompt": prompt, "variables": variables, "forAll": for_all, "agent": agent, "model": model, "project": project, "hostId": host_id, "branch": branch, "permissionMode": permission_mode, "createdAt": created_at, "updatedAt": updated_at})))

    def delete_template(self, id: str) -> SuccessResponse:
        """Delete a template."""
        return cast("SuccessResponse", self.call("DELETE", "/api/templates/" + element(id)))

    def fill_template(self, id: str, *, values: Dict[str, str]) -> FilledTemplate:
        """Put values into the prompt of a template. It creates nothing: send the result to createTask."""
        return cast("FilledTemplate", self.call("POST", "/api/templates/" + element(id) + "/fill", body=members({"values": values})))

    def read_shared(self, *, after: Optional[int] = None) -> SharedTranscript:
        """Read a page of a shared transcript. If `more` is true, `nextAfter` is the `after` of the next page."""
        return cast("SharedTranscript", self.call("GET", "/api/shared", query={"after": after}))

    def create_task(self, *, title: str, agent: Optional[str] = None, project: Optional[str] = None, host_id: Optional[str] = None, agent_url: Optional[str] = None, agent_password: Optional[str] = None, mode: Optional[TaskMode] = None, model: Optional[str] = None, permission_mode: Optional[PermissionMode] = None, workspace: Optional[str] = None, branch: Optional[str] = None) -> Task:
        """Create a task."""
        return cast("Task", self.call("POST", "/api/tasks", body=members({"title": title, "agent": agent, "project": project, "hostId": host_id, "agentUrl": agent_url, "agentPassword": agent_password, "mode": mode, "model": model, "permissionMode": permission_mode, "workspace": workspace, "branch": branch})))

    def list_tasks(self, *, cursor: Optional[str] = None, limit: Optional[int] = None, q: Optional[str] = None, archived: Optional[bool] = None, state: Optional[TaskState] = None) -> TaskList:
        """List tasks by last activity."""
        return cast("TaskList", self.call("GET", "/api/tasks", query={"cursor": cursor, "limit": limit, "q": q, "archived": archived, "state": state}))

    def get_task(self, id: str, *, at_least: Optional[int] = None, turn: Optional[str] = None, wait: Optional[str] = None) -> Task:
        """Get a task. It can wait for what a reader saw in the stream."""
        return cast("Task", self.call("GET", "/api/tasks/" + element(id), query={"atLeast": at_least, "turn": turn, "wait": wait}))

    def update_task(self, id: str, *, mode: Optional[TaskMode] = None, title: Optional[str] = None, archived: Optional[bool] = None, read_rev: Optional[int] = None, agent: Optional[str] = None, project: Optional[str] = None, branch: Optional[str] = None, model: Optional[str] = None, host_id: Optional[str] = None, agent_url: Optional[str] = None, agent_password: Optional[str] = None, permission_mode: Optional[PermissionMode] = None) -> Task:
        """Change members of a task."""
        return cast("Task", self.call("PATCH", "/api/tasks/" + element(id), body=members({"mode": mode, "title": title, "archived": archived, "readRev": read_rev, "agent": agent, "project": project, "branch": branch, "model": model, "hostId": host_id, "agentUrl": agent_url, "agentPassword": agent_password, "permissionMode": permission_mode})))

    def delete_task(self, id: str, *, only_copies: Optional[str] = None) -> TaskDeletion:
        """Delete a task. The host keeps workspaces in which something exists only, unless onlyCopies is the
        id of that list."""
        return cast("TaskDeletion", self.call("DELETE", "/api/tasks/" + element(id), query={"onlyCopies": only_copies}))

    def list_messages(self, id: str, *, after: Optional[int] = None, before: Optional[int] = None, since: Optional[int] = None, limit: Optional[int] = None, with_: Optional[str] = None, at_least: Optional[int] = None, turn: Optional[str] = None, wait: Optional[str] = None) -> MessageList:
        """List messages by position."""
        return cast("MessageList", self.call("GET", "/api/tasks/" + element(id) + "/messages", query={"after": after, "before": before, "since": since, "limit": limit, "with": with_, "atLeast": at_least, "turn": turn, "wait": wait}))

    def get_usage(self, id: str) -> TaskUsage:
        """Add up what the task's closed turns used."""
        return cast("TaskUsage", self.call("GET", "/api/tasks/" + element(id) + "/usage"))

    def get_only_copies(self, id: str) -> OnlyCopies:
        """List what exists only in the task's workspace."""
        return cast("OnlyCopies", self.call("GET", "/api/tasks/" + element(id) + "/only-copies"))

    def get_task_workspace(self, id: str) -> SessionWorkspace:
        """Describe the workspace of the task's session."""
        return cast("SessionWorkspace", self.call("GET", "/api/tasks/" + element(id) + "/workspace"))

    def search_task_paths(self, id: str, *, q: Optional[str] = None) -> PathList:
        """Search files of the task's workspace."""
        return cast("PathList", self.call("GET", "/api/tasks/" + element(id) + "/paths", query={"q": q}))

    def list_files(self, id: str, *, path: Optional[str] = None, after: Optional[str] = None) -> FileList:
        """List a directory of the task's workspace."""
        return cast("FileList", self.call("GET", "/api/tasks/" + element(id) + "/files", query={"path": path, "after": after}))

    def read_file(self, id: str, *, path: str, offset: Optional[int] = None) -> FileContent:
        """Read a file of the task's workspace."""
        return cast("FileContent", self.call("GET", "/api/tasks/" + element(id) + "/file", query={"path": path, "offset": offset}))

    def search_files(self, id: str, *, q: str, regexp: Optional[bool] = None, case: Optional[bool] = None) -> FileMatches:
        """Search lines in files of the task's workspace."""
        return cast("FileMatches", self.call("GET", "/api/tasks/" + element(id) + "/search", query={"q": q, "regexp": regexp, "case": case}))

    def list_commands(self, id: str) -> CommandList:
        """List the slash commands of the task's agent."""
        return cast("CommandList", self.call("GET", "/api/tasks/" + element(id) + "/commands"))

    def search_paths(self, *, host_id: Optional[str] = None, project: Optional[str] = None, branch: Optional[str] = None, q: Optional[str] = None) -> PathList:
        """Search files of a project."""
        return cast("PathList", self.call("GET", "/api/paths", query={"hostId": host_id, "project": project, "branch": branch, "q": q}))

    def commit(self, id: str, *, message: str, snapshot: str, head: str) -> CommitResponse:
        """Commit the changes of the workspace."""
        return cast("CommitResponse", self.call("POST", "/api/tasks/" + element(id) + "/commit", body=members({"message": message, "snapshot": snapshot, "head": head})))

    def discard(self, id: str, *, snapshot: str, paths: Optional[List[str]] = None, hunk: Optional[DiscardHunk] = None) -> DiscardResponse:
        """Give files the content that they had when the task began."""
        return cast("DiscardResponse", self.call("POST", "/api/tasks/" + element(id) + "/discard", body=members({"paths": paths, "hunk": hunk, "snapshot": snapshot})))

    def fetch(self, id: str) -> FetchResponse:
        """Bring new commits of the remote into the task's clone. It changes no branch and no file, so a turn
        may be open."""
        return cast("FetchResponse", self.call("POST", "/api/tasks/" + element(id) + "/fetch"))

    def pull_request(self, id: str, *, title: str, body: str) -> PullRequestResponse:
        """Open or change the pull request of the branch."""
        return cast("PullRequestResponse", self.call("POST", "/api/tasks/" + element(id) + "/pull-request", body=members({"title": title, "body": body})))

    def push(self, id: str, *, replaces: Optional[str] = None) -> PushResponse:
        """Push the branch of the workspace."""
        return cast("PushResponse", self.call("POST", "/api/tasks/" + element(id) + "/push", body=members({"replaces": replaces})))

    def get_queue(self, id: str) -> Queue:
        """List the messages that wait for the agent."""
        return cast("Queue", self.call("GET", "/api/tasks/" + element(id) + "/queue"))

    def queue_message(self, id: str, *, message: str, message_id: Optional[str] = None, artifacts: Optional[List[ArtifactInput]] = None, attachments: Optional[List[Attachment]] = None) -> QueuedMessage:
        """Queue a message. With a messageId the request may be repeated."""
        return cast("QueuedMessage", self.call("POST", "/api/tasks/" + element(id) + "/queue", body=members({"message": message, "messageId": message_id, "artifacts": artifacts, "attachments": attachments})))

    def change_queue(self, id: str, *, paused: Optional[bool] = None) -> Queue:
        """Pause or resume the queue."""
        return cast("Queue", self.call("PATCH", "/api/tasks/" + element(id) + "/queue", body=members({"paused": paused})))

    def change_queued_message(self, id: str, message_id: str, *, message: Optional[str] = None, position: Optional[int] = None) -> QueuedMessage:
        """Change or move a queued message."""
        return cast("QueuedMessage", self.call("PATCH", "/api/tasks/" + element(id) + "/queue/" + element(message_id), body=members({"message": message, "position": position})))

    def remove_queued_message(self, id: str, message_id: str) -> SuccessResponse:
        """Remove a queued message."""
        return cast("SuccessResponse", self.call("DELETE", "/api/tasks/" + element(id) + "/queue/" + element(message_id)))

    def send_queued_message(self, id: str, message_id: str) -> QueuedMessage:
        """Send a queued message next."""
        return cast("QueuedMessage", self.call("POST", "/api/tasks/" + element(id) + "/queue/" + element(message_id) + "/send"))

    def check_in(self, *, task_id: str, message: str, artifacts: Optional[List[ArtifactInput]] = None, message_id: Optional[str] = None, bind_prompt: Optional[bool] = None, reach: Optional[Reach] = None, permission_mode: Optional[PermissionMode] = None) -> CheckInResponse:
        """Store a message and open the session for its turn. The answer says where to stream from. With a
        messageId the request may be repeated. A 502 can carry the host's own code, and names the stored
        message."""
        return cast("CheckInResponse", self.call("POST", "/api/agent", body=members({"taskId": task_id, "message": message, "artifacts": artifacts, "messageId": message_id, "bindPrompt": bind_prompt, "reach": reach, "permissionMode": permission_mode})))

    def attach(self, *, task_id: str, reach: Optional[Reach] = None) -> AttachResponse:
        """Get a stream token without sending a message."""
        return cast("AttachResponse", self.call("POST", "/api/agent/attach", body=members({"taskId": task_id, "reach": reach})))

    def interrupt(self, *, task_id: str, turn_id: Optional[str] = None) -> InterruptResponse:
        """Stop the agent's turn. An idle agent is no error."""
        return cast("InterruptResponse", self.call("POST", "/api/agent/interrupt", body=members({"taskId": task_id, "turnId": turn_id})))

    def restart_agent(self, *, task_id: str) -> RestartResponse:
        """End the agent program."""
        return cast("RestartResponse", self.call("POST", "/api/agent/restart", body=members({"taskId": task_id})))

    def finish_turn(self, *, task_id: str, turn_id: str, finish_reason: Optional[FinishReason] = None, reason: Optional[str] = None) -> SuccessResponse:
        """Report how a turn of a basic host ended."""
        return cast("SuccessResponse", self.call("POST", "/api/agent/finish", body=members({"taskId": task_id, "turnId": turn_id, "finishReason": finish_reason, "reason": reason})))

    def create_diff(self, *, task_id: str) -> DiffResponse:
        """Store the session's changes as a message."""
        return cast("DiffResponse", self.call("POST", "/api/agent/diff", body=members({"taskId": task_id})))

    def list_interactions(self, *, state: Optional[str] = None, limit: Optional[int] = None) -> InteractionsResponse:
        """List questions of all tasks."""
        return cast("InteractionsResponse", self.call("GET", "/api/interactions", query={"state": state, "limit": limit}))

    def answer(self, id: str, *, approved: Optional[bool] = None, text: Optional[str] = None, remember: Optional[str] = None, reason: Optional[str] = None, by: Optional[str] = None) -> Interaction:
        """Answer a question."""
        return cast("Interaction", self.call("POST", "/api/interactions/" + element(id), body=members({"approved": approved, "text": text, "remember": remember, "reason": reason, "by": by})))

    def list_workspaces(self) -> HostWorkspaceList:
        """List the caller's workspaces on all hosts."""
        return cast("HostWorkspaceList", self.call("GET", "/api/workspaces"))

    def list_agents(self) -> OfferList:
        """List the agents and projects of all hosts."""
        return cast("OfferList", self.call("GET", "/api/agents"))

    def list_hosts(self) -> HostsResponse:
        """List the registered hosts."""
        return cast("HostsResponse", self.call("GET", "/api/hosts"))

    def create_host(self, *, name: str, url: str, password: str, reach: Optional[Reach] = None) -> Host:
        """Register a host."""
        return cast("Host", self.call("POST", "/api/hosts", body=members({"name": name, "url": url, "password": password, "reach": reach})))

    def update_host(self, id: str, *, name: Optional[str] = None, url: Optional[str] = None, password: Optional[str] = None, reach: Optional[Reach] = None) -> Host:
        """Change members of a host."""
        return cast("Host", self.call("PATCH", "/api/hosts/" + element(id), body=members({"name": name, "url": url, "password": password, "reach": reach})))

    def delete_host(self, id: str, *, force: Optional[bool] = None) -> SuccessResponse:
        """Remove a host."""
        return cast("SuccessResponse", self.call("DELETE", "/api/hosts/" + element(id), query={"force": force}))

    def list_installations(self, id: str) -> InstallationList:
        """List the last installation of each agent's program on a host."""
        return cast("InstallationList", self.call("GET", "/api/hosts/" + element(id) + "/installations"))

    def install(self, id: str, *, program: str) -> Installation:
        """Install an agent's program on a host."""
        return cast("Installation", self.call("POST", "/api/hosts/" + element(id) + "/installations", body=members({"program": program})))

    def cancel_installation(self, id: str, program: str) -> Installation:
        """Cancel an installation that runs."""
        return cast("Installation", self.call("DELETE", "/api/hosts/" + element(id) + "/installations/" + element(program)))

    def list_announcements(self) -> AnnouncementList:
        """List the announcements that hold now."""
        return cast("AnnouncementList", self.call("GET", "/api/announcements"))

    def announce(self, *, text: str, level: Optional[AnnouncementLevel] = None, expires_in: Optional[int] = None, announcement_id: Optional[str] = None) -> Announcement:
        """Announce something to all users."""
        return cast("Announcement", self.call("POST", "/api/announcements", body=members({"text": text, "level": level, "expiresIn": expires_in, "announcementId": announcement_id})))

    def cancel_announcement(self, id: str) -> SuccessResponse:
        """Take an announcement back."""
        return cast("SuccessResponse", self.call("DELETE", "/api/announcements/" + element(id)))

    def diagnose(self) -> Report:
        """Run the checks of `bellhop doctor`."""
        return cast("Report", self.call("GET", "/api/doctor"))

    def list_audit(self, *, from_: Optional[str] = None, until: Optional[str] = None, actor: Optional[str] = None, action: Optional[str] = None, subject: Optional[str] = None, cursor: Optional[str] = None, limit: Optional[int] = None) -> AuditList:
        """List entries of the audit log, the newest first."""
        return cast("AuditList", self.call("GET", "/api/audit", query={"from": from_, "until": until, "actor": actor, "action": action, "subject": subject, "cursor": cursor, "limit": limit}))

    def export_audit(self, *, from_: Optional[str] = None, until: Optional[str] = None, actor: Optional[str] = None, action: Optional[str] = None, subject: Optional[str] = None) -> str:
        """Export the audit log as JSON lines. Each line is an AuditEntry. An export that is not complete ends
        with a cut connection."""
        return cast("str", self.call("GET", "/api/audit/export", query={"from": from_, "until": until, "actor": actor, "action": action, "subject": subject}, text=True))

    def list_orphans(self) -> OrphanList:
        """List sessions whose task the broker does not have."""
        return cast("OrphanList", self.call("GET", "/api/orphans"))

    def adopt(self, session_id: str, *, host_id: str, email: Optional[str] = None, title: Optional[str] = None) -> Task:
        """Create the task of an orphan."""
        return cast("Task", self.call("POST", "/api/orphans/" + element(session_id), body=members({"hostId": host_id, "email": email, "title": title})))

    def create_notebook(self, *, agent_name: str, agent_identifier: str, agent_icon: Optional[str] = None, title: Optional[str] = None, description: Optional[str] = None, webhook_url: Optional[str] = None, webhook_secret: Optional[str] = None, metadata: Optional[Dict[str, Any]] = None) -> CreateResponse:
        """Create or find the agent's notebook."""
        return cast("CreateResponse", self.call("POST", "/api/coding-agent/notebooks", body=members({"agentName": agent_name, "agentIdentifier": agent_identifier, "agentIcon": agent_icon, "title": title, "description": description, "webhookUrl": webhook_url, "webhookSecret": webhook_secret, "metadata": metadata})))

    def save_code(self, *, notebook_id: str, title: str, code: str, context: str, language: Optional[str] = None, metadata: Optional[Dict[str, Any]] = None) -> SourceResponse:
        """Save code with the reason why it was written."""
        return cast("SourceResponse", self.call("POST", "/api/coding-agent/sources/with-context", body=members({"notebookId": notebook_id, "title": title, "code": code, "language": language, "context": context, "metadata": metadata})))

    def list_agent_sources(self, *, agent_session_id: Optional[str] = None) -> SourcesResponse:
        """List the agent's sources."""
        return cast("SourcesResponse", self.call("GET", "/api/coding-agent/sources", query={"agentSessionId": agent_session_id}))

    def get_agent_source(self, id: str, *, conversation: Optional[bool] = None) -> GetResponse:
        """Get a source of the agent."""
        return cast("GetResponse", self.call("GET", "/api/coding-agent/sources/" + element(id), query={"conversation": conversation}))

    def update_source(self, id: str, *, code: str, description: Optional[str] = None, base_version: Optional[int] = None) -> SourceResponse:
        """Save the next version of a source."""
        return cast("SourceResponse", self.call("PUT", "/api/coding-agent/sources/" + element(id), body=members({"code": code, "description": description, "baseVersion": base_version})))

    def delete_agent_source(self, id: str) -> SuccessResponse:
        """Delete a source of the agent."""
        return cast("SuccessResponse", self.call("DELETE", "/api/coding-agent/sources/" + element(id)))

    def verify_code(self, *, code: str, language: Optional[str] = None) -> Verification:
        """Check code without saving it."""
        return cast("Verification", self.call("POST", "/api/coding-agent/verify", body=members({"code": code, "language": language})))

    def list_followups(self, *, agent_session_id: Optional[str] = None) -> FollowupsResponse:
        """List unanswered questions of the user."""
        return cast("FollowupsResponse", self.call("GET", "/api/coding-agent/followups", query={"agentSessionId": agent_session_id}))

    def respond(self, id: str, *, response: str, code_update: Optional[CodeUpdate] = None, attachments: Optional[List[FollowupAttachment]] = None) -> RespondResponse:
        """Answer a question of the user."""
        return cast("RespondResponse", self.call("POST", "/api/coding-agent/followups/" + element(id) + "/respond", body=members({"response": response, "codeUpdate": code_update, "attachments": attachments})))

    def register_webhook(self, *, agent_session_id: str, url: str, secret: Optional[str] = None) -> WebhookResponse:
        """Have questions sent to a webhook."""
        return cast("WebhookResponse", self.call("POST", "/api/coding-agent/webhook/register", body=members({"agentSessionId": agent_session_id, "url": url, "secret": secret})))

    def remove_webhook(self, *, agent_session_id: Optional[str] = None) -> SessionResponse:
        """Stop sending questions to the webhook."""
        return cast("SessionResponse", self.call("DELETE", "/api/coding-agent/webhook", query={"agentSessionId": agent_session_id}))

    def list_notebooks(self) -> NotebooksResponse:
        """List notebooks."""
        return cast("NotebooksResponse", self.call("GET", "/api/notebooks"))

    def get_notebook(self, id: str) -> ContentsResponse:
        """Get a notebook with its sources."""
        return cast("ContentsResponse", self.call("GET", "/api/notebooks/" + element(id)))

    def delete_notebook(self, id: str) -> SuccessResponse:
        """Delete a notebook."""
        return cast("SuccessResponse", self.call("DELETE", "/api/notebooks/" + element(id)))

    def get_source(self, id: str) -> SourceResponse:
        """Get a source."""
        return cast("SourceResponse", self.call("GET", "/api/sources/" + element(id)))

    def delete_source(self, id: str) -> SuccessResponse:
        """Delete a source."""
        return cast("SuccessResponse", self.call("DELETE", "/api/sources/" + element(id)))

    def list_versions(self, id: str) -> VersionsResponse:
        """List the versions of a source, the oldest first."""
        return cast("VersionsResponse", self.call("GET", "/api/sources/" + element(id) + "/versions"))

    def get_version(self, id: str, version: int) -> VersionResponse:
        """Get a version of a source."""
        return cast("VersionResponse", self.call("GET", "/api/sources/" + element(id) + "/versions/" + element(version)))

    def get_conversation(self, id: str) -> Conversation:
        """Get the questions and answers about a source."""
        return cast("Conversation", self.call("GET", "/api/sources/" + element(id) + "/conversation"))

    def ask(self, id: str, *, content: str, attachments: Optional[List[FollowupAttachment]] = None) -> MessageResponse:
        """Ask the agent about a source."""
        return cast("MessageResponse", self.call("POST", "/api/sources/" + element(id) + "/conversation", body=members({"content": content, "attachments": attachments})))

    def mark_read(self, id: str, *, message_id: str) -> SuccessResponse:
        """Mark messages as read."""
        return cast("SuccessResponse", self.call("POST", "/api/sources/" + element(id) + "/conversation/read", body=members({"messageId": message_id})))

    def list_agent_sessions(self) -> SessionsResponse:
        """List the coding agents that are connected."""
        return cast("SessionsResponse", self.call("GET", "/api/agent-sessions"))

    def disconnect_agent(self, id: str) -> SessionResponse:
        """Disconnect a coding agent."""
        return cast("SessionResponse", self.call("POST", "/api/agent-sessions/" + element(id) + "/disconnect"))

    def renew_agent(self, id: str) -> SessionResponse:
        """Connect a coding agent again."""
        return cast("SessionResponse", self.call("POST", "/api/agent-sessions/" + element(id) + "/renew"))

    def describe_mcp(self) -> Dict[str, Any]:
        """Say which tokens /mcp takes (RFC 9728)."""
        return cast("Dict[str, Any]", self.call("GET", "/.well-known/oauth-protected-resource"))

    def describe_mcp_resource(self) -> Dict[str, Any]:
        """The same, for the path /mcp."""
        return cast("Dict[str, Any]", self.call("GET", "/.well-known/oauth-protected-resource/mcp"))

    def list_deliveries(self, *, state: Optional[str] = None, endpoint_id: Optional[str] = None, cursor: Optional[str] = None, limit: Optional[int] = None) -> DeliveriesResponse:
        """List deliveries, the newest first."""
        return cast("DeliveriesResponse", self.call("GET", "/api/deliveries", query={"state": state, "endpointId": endpoint_id, "cursor": cursor, "limit": limit}))

    def retry_delivery(self, id: str) -> DeliveryResponse:
        """Send a delivery again."""
        return cast("DeliveryResponse", self.call("POST", "/api/deliveries/" + element(id) + "/retry"))

    def list_webhooks(self) -> WebhooksResponse:
        """List webhooks."""
        return cast("WebhooksResponse", self.call("GET", "/api/webhooks"))

    def create_webhook(self, *, url: str, events: List[WebhookEvent], format: Optional[WebhookFormat] = None, secret: Optional[str] = None) -> OutboundWebhookResponse:
        """Create a webhook. The secret is in this answer, and never again."""
        return cast("OutboundWebhookResponse", self.call("POST", "/api/webhooks", body=members({"url": url, "events": events, "format": format, "secret": secret})))

    def delete_webhook(self, id: str) -> SuccessResponse:
        """Delete a webhook and what waits for it."""
        return cast("SuccessResponse", self.call("DELETE", "/api/webhooks/" + element(id)))

    def rotate_webhook(self, id: str, *, secret: Optional[str] = None) -> OutboundWebhookResponse:
        """Replace the secret of a webhook. The secret is in this answer, and never again."""
        return cast("OutboundWebhookResponse", self.call("POST", "/api/webhooks/" + element(id) + "/rotate", body=members({"secret": secret})))

    def enable_webhook(self, id: str) -> SuccessResponse:
        """Enable a webhook again."""
        return cast("SuccessResponse", self.call("POST", "/api/webhooks/" + element(id) + "/enable"))

    def list_subscriptions(self) -> ListResponse:
        """List the browsers that get notifications."""
        return cast("ListResponse", self.call("GET", "/api/notifications"))

    def subscribe(self, *, endpoint: str, keys: Keys, events: Optional[List[NotificationEvent]] = None) -> SubscriptionResponse:
        """Have notifications sent to this browser. They end with the sign-in of the browser."""
        return cast("SubscriptionResponse", self.call("PUT", "/api/notifications", body=members({"endpoint": endpoint, "keys": keys, "events": events})))

    def change_subscription(self, id: str, *, events: List[NotificationEvent]) -> SubscriptionResponse:
        """Choose the notifications of a browser."""
        return cast("SubscriptionResponse", self.call("PATCH", "/api/notifications/" + element(id), body=members({"events": events})))

    def remove_subscription(self, id: str) -> SuccessResponse:
        """Send a browser no more notifications."""
        return cast("SuccessResponse", self.call("DELETE", "/api/notifications/" + element(id)))
