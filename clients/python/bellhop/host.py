# Code generated from openapi/host.yaml by internal/pygen. DO NOT EDIT.
"Bellhop agent host: types and routes."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union, cast

from ._http import Server, element, members

AnnouncementLevel = Literal["info", "success", "warning", "error"]

Code = str

ContentKind = Literal["text", "image", "binary"]

DiffStatus = Literal["added", "modified", "deleted", "renamed", "type-changed"]

EventType = str

FileKind = Literal["file", "directory", "link", "other"]

FinishReason = Literal["stop", "length", "content-filter", "tool-calls", "error", "other"]

ForgeKind = Literal["github", "gitlab", "gitea"]

InstallationState = Literal["running", "installed", "present", "failed", "cancelled"]

InstallationStep = Literal["wait", "download", "unpack", "npm", "check"]

InteractionKind = Literal["confirm", "ask"]

InteractionState = Literal["open", "resolved", "expired"]

OnlyCopyKind = Literal["changed", "hidden", "staged", "ignored", "unread", "repository", "submodule", "worktree", "commits", "object", "stash", "reflog", "unknown"]

OutboxState = Literal["ok", "sending", "retrying", "stopped", "unknown", "none"]

PermissionMode = Literal["plan", "ask", "accept-edits", "auto"]

SandboxState = Literal["full", "partial", "none"]

ShipStep = Literal["commit", "discard", "discard-hunk", "fetch", "push", "pull-request"]

Status = Literal["none", "idle", "busy"]

StorageState = Literal["low"]


class _AnnouncedTurn(TypedDict):
    id: str


class AnnouncedTurn(_AnnouncedTurn, total=False):
    """AnnouncedTurn is a turn that the token of the response may start once. promptSha256 is the hex SHA-256
    of the message's UTF-8 bytes; with "" the token accepts any prompt."""
    promptSha256: str
    messageId: str
    rev: int


class Announcement(TypedDict):
    """Announcement is a notice of an administrator to every user: consoles show it, and hosts show it to the
    clients of their headless interface."""
    announcementId: str
    text: str
    level: AnnouncementLevel
    createdAt: str
    expiresAt: str


class AnswerRequest(TypedDict, total=False):
    """AnswerRequest answers an interaction, on the broker and on the host."""
    approved: bool
    text: str
    remember: str
    reason: str
    by: str


class _Attachment(TypedDict):
    type: str
    data: str


class Attachment(_Attachment, total=False):
    """Attachment is an image or a document; data is base64 (RFC 4648 section 4)."""
    mediaType: str
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


class BoundSessionList(TypedDict):
    """BoundSessionList is a page of sessions by id. nextAfter is "" on the last page."""
    sessions: List[BoundSession]
    nextAfter: str


class Choice(TypedDict):
    """Choice is a model or a mode of an agent."""
    id: str
    name: str


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


class CommitAuthor(TypedDict):
    """CommitAuthor is the author of a commit."""
    name: str
    email: str


class CommitRequest(TypedDict):
    """CommitRequest is the body of POST /session/:id/commit of an agent host."""
    message: str
    author: CommitAuthor
    snapshot: str
    head: str


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


class _Confirmation(TypedDict):
    success: bool


class Confirmation(_Confirmation, total=False):
    """Confirmation is a host's response to a call that changes a session. sessionId proves that a host wrote
    it: a gateway's {"success":true} does not name the session. Basic hosts name none."""
    sessionId: str
    worktreeKept: bool
    kept: OnlyCopies


class Cursor(TypedDict):
    """Cursor names the highest event without a gap before it: seq counts from 1 within an epoch without gaps.
    The zero Cursor {0,0} stands for no event."""
    epoch: int
    seq: int


class DeadLetter(TypedDict):
    """DeadLetter is an event the broker refused for good; a dropped event went in its place."""
    sessionId: str
    cursor: Cursor
    eventId: str
    reason: str
    body: str
    at: str


class _Diff(TypedDict):
    files: List[DiffFile]
    patch: str


class Diff(_Diff, total=False):
    """Diff holds the changes of a session since it began: commits, staged and unstaged changes, and new
    files. It is the response of a host's GET /session/:id/diff and, without base, the content of a DIFF
    artifact."""
    base: str
    truncated: bool
    total: DiffTotal
    snapshot: str
    head: str
    leftOut: List[LeftOut]
    leftOutCount: int
    innerRepositories: List[str]
    innerRepositoryCount: int


class _DiffFile(TypedDict):
    path: str
    status: DiffStatus
    additions: int
    deletions: int


class DiffFile(_DiffFile, total=False):
    """DiffFile is one changed file. binary files have no line counts."""
    oldPath: str
    binary: bool


class DiffTotal(TypedDict):
    """DiffTotal counts the changes of a diff."""
    files: int
    additions: int
    deletions: int


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


class _EventsResponse(TypedDict):
    epoch: int
    events: List[Any]
    nextAfter: int
    status: Status


class EventsResponse(_EventsResponse, total=False):
    """EventsResponse is the response to GET /session/:id/events on the agent host. Pass epoch and nextAfter
    as "epoch" and "after" of the next request. Fewer events than the limit mean that epoch has no more; then
    epoch is currentEpoch, or the next request begins with a later epoch."""
    sessionId: str
    openTurn: str
    currentEpoch: int
    queuedTurns: List[str]
    announcedTurn: str
    prompts: List[TurnPrompt]


class FetchRequest(TypedDict, total=False):
    credential: ForgeCredential


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


class _ForgeCredential(TypedDict):
    forge: str
    token: str


class ForgeCredential(_ForgeCredential, total=False):
    """ForgeCredential is a user's own token for a forge. It is the body of POST /api/forge-tokens of a
    broker, and a part of the bodies that a broker sends to a host for one act of the user."""
    kind: ForgeKind


class HeadlessRequest(TypedDict, total=False):
    """HeadlessRequest is POST /sessions. With session_id an existing headless session gets another token; its
    other members are ignored then."""
    session_id: str
    instructions: str
    agent: str
    model: str
    project: str
    permission_mode: PermissionMode


class HeadlessResponse(TypedDict):
    """HeadlessResponse is the answer to a HeadlessRequest."""
    session_id: str
    token: str
    expires_at: str


class HistoryResponse(TypedDict):
    session_id: str
    lines: List[Line]


class HostAnnouncements(TypedDict):
    """HostAnnouncements is the body of PUT /announcements of an agent host: all announcements of a broker.
    They replace those that the broker sent before."""
    brokerId: str
    announcements: List[Announcement]


class HostAnnouncementsResponse(TypedDict):
    """HostAnnouncementsResponse is the host's response to PUT /announcements."""
    success: bool
    brokerId: str


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


class _HostStatus(TypedDict):
    startedAt: str
    openTurns: int
    unacknowledged: int
    sessions: List[SessionStatus]
    workspaces: List[WorkspaceStatus]
    deadLetters: List[DeadLetter]
    notices: List[str]


class HostStatus(_HostStatus, total=False):
    """HostStatus is the host's status with its version and that of its disk."""
    diskBytes: int
    sandbox: Any
    version: str
    disk: Space


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


class InteractionAnswer(TypedDict, total=False):
    """InteractionAnswer is the user's answer: approved for confirm, text for ask."""
    approved: bool
    text: str
    reason: str
    remembered: str
    by: str


class LeftOut(TypedDict):
    """LeftOut is a file or directory that the host did not read. path and reason together are a sentence."""
    path: str
    reason: str


class _Line(TypedDict):
    type: str


class Line(_Line, total=False):
    """Line is one message of the headless interface (protocol section 4): one JSON object per line on stdio,
    one text message on a WebSocket. One struct has the members of all types; absent ones are not written."""
    session_id: str
    timestamp: Any
    level: str
    message: str
    code: Code
    command: str
    version: str
    tools: List[str]
    by: str
    content: str
    format: str
    metadata: Any
    id: str
    name: str
    arguments: Any
    is_error: bool
    request_id: str
    prompt: str
    default: str
    tool_name: str
    args: Any
    security_warning: SecurityWarning
    state: str
    reason: str
    text: str
    attachments: List[Attachment]
    force: bool
    value: bool
    remember: str


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


class _OpenSessionRequest(TypedDict):
    sessionId: str
    webhookUrl: str


class OpenSessionRequest(_OpenSessionRequest, total=False):
    """OpenSessionRequest is the body of POST /session on the agent host. A basic broker sends only sessionId
    and webhookUrl."""
    brokerId: str
    cursor: Cursor
    agent: str
    project: str
    model: str
    turn: AnnouncedTurn
    attach: bool
    bindKey: bool
    permissionMode: PermissionMode
    incarnation: str
    title: str
    owner: str
    credential: str
    workspace: str
    namedAnswers: bool
    branch: str


class _OpenSessionResponse(TypedDict):
    token: str
    streamCursor: Optional[str]


class OpenSessionResponse(_OpenSessionResponse, total=False):
    """OpenSessionResponse is the response to POST /session. A basic host sends only token."""
    sessionId: str
    expiresAt: str
    streamUrl: str
    cursor: Cursor
    status: Status
    reason: str
    openTurn: str
    queuedTurns: List[str]
    attached: bool
    capabilities: List[str]
    permissionMode: PermissionMode


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


class _PullRequestRequest(TypedDict):
    title: str
    body: str


class PullRequestRequest(_PullRequestRequest, total=False):
    credential: ForgeCredential


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
    replaces: str
    credential: ForgeCredential


class PushResponse(TypedDict):
    """PushResponse is the response to a PushRequest. A repeated request gets it again."""
    success: bool
    sessionId: str
    commit: str
    branch: str
    remote: str
    replaced: str


class _Readiness(TypedDict):
    status: str


class Readiness(_Readiness, total=False):
    """Readiness is the answer of /healthz and /readyz, on broker and host."""
    storage: StorageState


class _ReconcileRequest(TypedDict):
    brokerId: str
    incarnation: str


class ReconcileRequest(_ReconcileRequest, total=False):
    """ReconcileRequest is the body of POST /reconcile on the agent host. The host compares those of the
    broker's sessions that it has not compared since the incarnation began. With force it compares others
    again: those that sessions names, or all of them if it names none."""
    force: bool
    sessions: List[str]


class ReconcileResponse(TypedDict):
    """ReconcileResponse is the response to POST /reconcile. It does not wait for the comparisons; pending
    falls to 0 when they are done."""
    sessions: int
    pending: int
    unknown: int
    unacknowledged: int
    acknowledged: List[SessionCursor]


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


class RevokeRequest(TypedDict):
    """RevokeRequest asks an agent host to end the stream tokens and the streams that it issued to
    credentials, in all sessions of the broker."""
    brokerId: str
    credentials: List[str]


class RevokeResponse(TypedDict):
    """RevokeResponse repeats the broker's id, which proves that a host wrote it."""
    success: bool
    brokerId: str


class SecurityWarning(TypedDict):
    """SecurityWarning describes the danger of a confirmed call."""
    level: str
    message: str


class SessionCursor(TypedDict):
    """SessionCursor is a position in a session."""
    sessionId: str
    cursor: Cursor


class SessionInfo(TypedDict):
    """SessionInfo is one session of GET /sessions."""
    session_id: str
    agent: str
    project: str
    model: str
    state: str
    open_questions: int
    headless: bool
    clients: int
    created_at: str
    last_activity_at: str


class SessionOnlyCopies(TypedDict):
    """SessionOnlyCopies is the response to GET /session/:id/only-copies on the agent host: what ending the
    session would lose. DELETE with its id loses it."""
    sessionId: str
    onlyCopies: OnlyCopies


class _SessionStatus(TypedDict):
    id: str
    agent: str
    project: str
    status: Status
    reason: str
    openTurn: str
    openInteractions: int
    cursor: Cursor
    acknowledged: Cursor
    unacknowledged: int
    outbox: OutboxState
    lastActivityAt: str


class SessionStatus(_SessionStatus, total=False):
    """SessionStatus is one session of a HostStatus."""
    outboxError: str


class SessionWorkspace(TypedDict):
    """SessionWorkspace is the response to GET /session/:id/workspace of an agent host, and to GET
    /api/tasks/:id/workspace of a broker."""
    workspace: Optional[WorkspaceState]


class SessionsResponse(TypedDict):
    sessions: List[SessionInfo]


class Space(TypedDict):
    """Space is the room on a file system, as JSON shows it."""
    freeBytes: int
    totalBytes: int
    warnBelowBytes: int
    low: bool


class StoppedResponse(TypedDict):
    project: str
    stopped: List[StoppedSession]


class StoppedSession(TypedDict):
    """StoppedSession is a session whose agent StopProject ended."""
    sessionId: str
    endedTurn: str


class TerminalRequest(TypedDict, total=False):
    """TerminalRequest asks for the command of the agent's terminal client, or reports about an open one."""
    attached: bool
    closed: bool
    waitSeconds: int


class _TerminalResponse(TypedDict):
    command: Optional[List[str]]
    dir: str
    env: Optional[List[str]]


class TerminalResponse(_TerminalResponse, total=False):
    """TerminalResponse is the command, or the answer to a report."""
    takenOver: bool


class ToolCall(TypedDict):
    """ToolCall is the call inside an approval request."""
    type: str
    toolCallId: str
    toolName: str
    input: Any


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


class WorkspaceList(TypedDict):
    """WorkspaceList is the response to GET /workspaces of an agent host: the workspaces of the user whose key
    `Bellhop-Owner-Key` has."""
    workspaces: List[Workspace]


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


class _WorkspaceStatus(TypedDict):
    path: str
    status: Status
    reason: str
    sessions: List[str]


class WorkspaceStatus(_WorkspaceStatus, total=False):
    """WorkspaceStatus is one workspace of a HostStatus: what its sessions and the programs that people run
    there do together."""
    branch: str
    dirty: bool
    metadata: Dict[str, str]


class Routes(Server):
    """One method for each route that answers with JSON or text."""

    def get_health(self) -> Readiness:
        """Report that the process responds."""
        return cast("Readiness", self.call("GET", "/healthz"))

    def get_readiness(self) -> Readiness:
        """Report whether turns can start."""
        return cast("Readiness", self.call("GET", "/readyz"))

    def get_open_api_as_json(self) -> Dict[str, Any]:
        """This document as JSON."""
        return cast("Dict[str, Any]", self.call("GET", "/openapi.json"))

    def open_session(self, *, session_id: str, webhook_url: str, broker_id: Optional[str] = None, cursor: Optional[Cursor] = None, agent: Optional[str] = None, project: Optional[str] = None, model: Optional[str] = None, turn: Optional[AnnouncedTurn] = None, attach: Optional[bool] = None, bind_key: Optional[bool] = None, permission_mode: Optional[PermissionMode] = None, incarnation: Optional[str] = None, title: Optional[str] = None, owner: Optional[str] = None, credential: Optional[str] = None, workspace: Optional[str] = None, named_answers: Optional[bool] = None, branch: Optional[str] = None) -> OpenSessionResponse:
        """Create or refresh a session."""
        return cast("OpenSessionResponse", self.call("POST", "/session", body=members({"sessionId": session_id, "webhookUrl": webhook_url, "brokerId": broker_id, "cursor": cursor, "agent": agent, "project": project, "model": model, "turn": turn, "attach": attach, "bindKey": bind_key, "permissionMode": permission_mode, "incarnation": incarnation, "title": title, "owner": owner, "credential": credential, "workspace": workspace, "namedAnswers": named_answers, "branch": branch})))

    def list_bound_sessions(self, *, broker_id: str, after: Optional[str] = None, limit: Optional[int] = None) -> BoundSessionList:
        """List the sessions of a broker."""
        return cast("BoundSessionList", self.call("GET", "/session", query={"brokerId": broker_id, "after": after, "limit": limit}))

    def reconcile(self, *, broker_id: str, incarnation: str, force: Optional[bool] = None, sessions: Optional[List[str]] = None) -> ReconcileResponse:
        """Compare sessions with the broker."""
        return cast("ReconcileResponse", self.call("POST", "/reconcile", body=members({"brokerId": broker_id, "incarnation": incarnation, "force": force, "sessions": sessions})))

    def revoke_credentials(self, *, broker_id: str, credentials: List[str]) -> RevokeResponse:
        """End the tokens and streams of credentials."""
        return cast("RevokeResponse", self.call("POST", "/revoke", body=members({"brokerId": broker_id, "credentials": credentials})))

    def get_bound_session(self, id: str) -> BoundSession:
        """Describe a session to its broker."""
        return cast("BoundSession", self.call("GET", "/session/" + element(id)))

    def delete_session(self, id: str, *, only_copies: Optional[str] = None) -> Confirmation:
        """End a session. Workspaces in which something exists only are kept, unless onlyCopies is the id of
        that list."""
        return cast("Confirmation", self.call("DELETE", "/session/" + element(id), query={"onlyCopies": only_copies}))

    def interrupt(self, id: str, *, turn_id: Optional[str] = None) -> Confirmation:
        """Stop the session's turn."""
        return cast("Confirmation", self.call("POST", "/session/" + element(id) + "/interrupt", query={"turnId": turn_id}))

    def answer(self, id: str, iid: str, *, approved: Optional[bool] = None, text: Optional[str] = None, remember: Optional[str] = None, reason: Optional[str] = None, by: Optional[str] = None) -> Confirmation:
        """Answer a question."""
        return cast("Confirmation", self.call("POST", "/session/" + element(id) + "/interactions/" + element(iid), body=members({"approved": approved, "text": text, "remember": remember, "reason": reason, "by": by})))

    def list_events(self, id: str, *, epoch: Optional[int] = None, after: Optional[int] = None, limit: Optional[int] = None, last: Optional[str] = None, prompts: Optional[bool] = None) -> EventsResponse:
        """List events of the session's journal."""
        return cast("EventsResponse", self.call("GET", "/session/" + element(id) + "/events", query={"epoch": epoch, "after": after, "limit": limit, "last": last, "prompts": prompts}))

    def get_diff(self, id: str) -> Diff:
        """Get what changed since the session began."""
        return cast("Diff", self.call("GET", "/session/" + element(id) + "/diff"))

    def get_only_copies(self, id: str) -> SessionOnlyCopies:
        """List what exists only in the session's workspaces."""
        return cast("SessionOnlyCopies", self.call("GET", "/session/" + element(id) + "/only-copies"))

    def get_workspace(self, id: str) -> SessionWorkspace:
        """Describe the session's workspace."""
        return cast("SessionWorkspace", self.call("GET", "/session/" + element(id) + "/workspace"))

    def search_session_paths(self, id: str, *, q: Optional[str] = None) -> PathList:
        """Search files of the session's workspace."""
        return cast("PathList", self.call("GET", "/session/" + element(id) + "/paths", query={"q": q}))

    def list_files(self, id: str, *, path: Optional[str] = None, after: Optional[str] = None) -> FileList:
        """List a directory of the session's workspace."""
        return cast("FileList", self.call("GET", "/session/" + element(id) + "/files", query={"path": path, "after": after}))

    def read_file(self, id: str, *, path: str, offset: Optional[int] = None) -> FileContent:
        """Read a file of the session's workspace."""
        return cast("FileContent", self.call("GET", "/session/" + element(id) + "/file", query={"path": path, "offset": offset}))

    def search_files(self, id: str, *, q: str, regexp: Optional[bool] = None, case: Optional[bool] = None) -> FileMatches:
        """Search lines in files of the session's workspace."""
        return cast("FileMatches", self.call("GET", "/session/" + element(id) + "/search", query={"q": q, "regexp": regexp, "case": case}))

    def list_commands(self, id: str) -> CommandList:
        """List the slash commands of the session's agent."""
        return cast("CommandList", self.call("GET", "/session/" + element(id) + "/commands"))

    def search_project_paths(self, project: str, *, branch: Optional[str] = None, q: Optional[str] = None) -> PathList:
        """Search files of a project."""
        return cast("PathList", self.call("GET", "/projects/" + element(project) + "/paths", query={"branch": branch, "q": q}))

    def commit(self, id: str, *, message: str, author: CommitAuthor, snapshot: str, head: str) -> CommitResponse:
        """Commit the changes of the workspace."""
        return cast("CommitResponse", self.call("POST", "/session/" + element(id) + "/commit", body=members({"message": message, "author": author, "snapshot": snapshot, "head": head})))

    def discard(self, id: str, *, snapshot: str, paths: Optional[List[str]] = None, hunk: Optional[DiscardHunk] = None) -> DiscardResponse:
        """Give files the content that they had when the session began."""
        return cast("DiscardResponse", self.call("POST", "/session/" + element(id) + "/discard", body=members({"paths": paths, "hunk": hunk, "snapshot": snapshot})))

    def fetch(self, id: str, *, credential: Optional[ForgeCredential] = None) -> FetchResponse:
        """Bring new commits of the remote into the session's clone. It changes no branch and no file."""
        return cast("FetchResponse", self.call("POST", "/session/" + element(id) + "/fetch", body=members({"credential": credential})))

    def pull_request(self, id: str, *, title: str, body: str, credential: Optional[ForgeCredential] = None) -> PullRequestResponse:
        """Open or change the pull request of the branch."""
        return cast("PullRequestResponse", self.call("POST", "/session/" + element(id) + "/pull-request", body=members({"title": title, "body": body, "credential": credential})))

    def push(self, id: str, *, replaces: Optional[str] = None, credential: Optional[ForgeCredential] = None) -> PushResponse:
        """Push the branch of the workspace."""
        return cast("PushResponse", self.call("POST", "/session/" + element(id) + "/push", body=members({"replaces": replaces, "credential": credential})))

    def revoke_tokens(self, id: str) -> Confirmation:
        """Drop the session's stream tokens and cut its streams."""
        return cast("Confirmation", self.call("POST", "/session/" + element(id) + "/revoke"))

    def restart_agent(self, id: str) -> RestartResponse:
        """End the agent program and the open turn."""
        return cast("RestartResponse", self.call("POST", "/session/" + element(id) + "/restart"))

    def open_terminal(self, id: str, *, attached: Optional[bool] = None, closed: Optional[bool] = None, wait_seconds: Optional[int] = None) -> TerminalResponse:
        """Prepare the agent's own terminal client. The answer contains secrets."""
        return cast("TerminalResponse", self.call("POST", "/session/" + element(id) + "/terminal", body=members({"attached": attached, "closed": closed, "waitSeconds": wait_seconds})))

    def release_key(self, id: str) -> Confirmation:
        """Forget the session's key."""
        return cast("Confirmation", self.call("DELETE", "/session/" + element(id) + "/key"))

    def create_session(self, *, session_id: Optional[str] = None, instructions: Optional[str] = None, agent: Optional[str] = None, model: Optional[str] = None, project: Optional[str] = None, permission_mode: Optional[PermissionMode] = None) -> HeadlessResponse:
        """Create a session without a webhook."""
        return cast("HeadlessResponse", self.call("POST", "/sessions", body=members({"session_id": session_id, "instructions": instructions, "agent": agent, "model": model, "project": project, "permission_mode": permission_mode})))

    def list_sessions(self) -> SessionsResponse:
        """List the sessions of the headless interface."""
        return cast("SessionsResponse", self.call("GET", "/sessions"))

    def get_history(self, id: str) -> HistoryResponse:
        """Get the lines of a session."""
        return cast("HistoryResponse", self.call("GET", "/sessions/" + element(id) + "/history"))

    def end_session(self, id: str) -> None:
        """End a session."""
        return self.call("DELETE", "/sessions/" + element(id))

    def list_workspaces(self) -> WorkspaceList:
        """List the workspaces of a user."""
        return cast("WorkspaceList", self.call("GET", "/workspaces"))

    def get_offer(self) -> HostOffer:
        """List the agents and projects of the host."""
        return cast("HostOffer", self.call("GET", "/offer"))

    def list_installations(self) -> InstallationList:
        """List the last installation of each program."""
        return cast("InstallationList", self.call("GET", "/installations"))

    def install(self, *, program: str) -> Installation:
        """Install an agent's program."""
        return cast("Installation", self.call("POST", "/installations", body=members({"program": program})))

    def cancel_installation(self, program: str) -> Installation:
        """Cancel an installation that runs."""
        return cast("Installation", self.call("DELETE", "/installations/" + element(program)))

    def put_announcements(self, *, broker_id: str, announcements: List[Announcement]) -> HostAnnouncementsResponse:
        """Replace the announcements of a broker."""
        return cast("HostAnnouncementsResponse", self.call("PUT", "/announcements", body=members({"brokerId": broker_id, "announcements": announcements})))

    def stop_project(self, project: str) -> StoppedResponse:
        """End the agents of a project's sessions."""
        return cast("StoppedResponse", self.call("POST", "/projects/" + element(project) + "/stop"))

    def get_metrics(self) -> str:
        """Metrics as text of Prometheus."""
        return cast("str", self.call("GET", "/metrics", text=True))

    def get_status(self) -> HostStatus:
        """Describe what the host does."""
        return cast("HostStatus", self.call("GET", "/status"))
