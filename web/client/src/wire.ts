// Code generated from the Go package protocol by internal/wiregen. DO NOT EDIT.
// Run "go generate ./protocol" after a change there.
//
// Times are RFC 3339 strings in UTC. Numbers whose name ends in Ms are milliseconds, sizes are bytes.

/** characters of an announcement's text */
export const maxAnnouncementText = 500;

/** announcements that may be active at the same time */
export const maxAnnouncements = 20;

export const minAnnouncementLife = 10;

export const defaultAnnouncementLife = 86_400;

export const maxAnnouncementLife = 2_592_000;

/** maxBranch limits the name of a branch that a task starts from, in bytes. */
export const maxBranch = 200;

export const maxCommands = 300;

/** bytes; commands with longer names are left out */
export const maxCommandName = 128;

/** bytes of a description, and of the arguments */
export const maxCommandText = 400;

/**
 * maxPosition is the greatest epoch, seq and offset. Every JSON number up to it is exact in all languages (RFC 8259
 * section 6), and adding one does not overflow.
 */
export const maxPosition = 9_007_199_254_740_991;

/** maxInner bounds the names of InnerRepositories. */
export const maxInner = 50;

export const maxLeftOut = 50;

export const maxLeftOutPath = 512;

/** entries of a directory that are read */
export const maxDirectory = 200_000;

/** entries of a FileList */
export const directoryPage = 500;

/** bytes of the text of a FileContent */
export const textPiece = 262_144;

/** bytes of an image that is shown */
export const maxImage = 5_242_880;

/** of an image that is shown */
export const maxPixels = 67_108_864;

/** bytes of a file that is searched */
export const maxSearched = 4_194_304;

export const maxMatches = 500;

/** bytes of each part of a FileMatch */
export const maxMatchText = 200;

/** bytes */
export const maxSearchQuery = 256;

/** maxForgeToken is how many bytes the token for a forge has at most. */
export const maxForgeToken = 1_024;

/** of a host */
export const maxInstallations = 32;

/** of an installation */
export const maxInstallationLines = 12;

/** bytes of a line, an error or a hint */
export const maxInstallationText = 500;

/** pingIntervalMs is how often a server sends a comment on a stream that is otherwise silent. */
export const pingIntervalMs = 10_000;

/** streamIdleTimeoutMs is the silence, pings included, after which a reader gives up a connection and opens another. */
export const streamIdleTimeoutMs = 30_000;

/**
 * streamWakeTimeoutMs replaces streamIdleTimeoutMs after a reader's machine was asleep: one ping, and time to deliver
 * it.
 */
export const streamWakeTimeoutMs = 12_000;

/**
 * basicSilenceMs is how long a basic host may send nothing, neither events nor frames, before its turn counts as over.
 */
export const basicSilenceMs = 900_000;

/** reconnectMinDelayMs is how long a reader waits after the first failure; every further one in a row doubles it. */
export const reconnectMinDelayMs = 500;

/** reconnectMaxDelayMs limits the delay between two attempts of a reader. */
export const reconnectMaxDelayMs = 30_000;

/** promptTimeoutMs is how long a client may take to send a prompt, images included. */
export const promptTimeoutMs = 60_000;

/** webhookTimeoutMs limits a webhook request: the host gives up after it, and the broker stops reading and storing. */
export const webhookTimeoutMs = 10_000;

/** streamTokenLifetimeMs is how long an unused stream token stays valid. */
export const streamTokenLifetimeMs = 600_000;

/** webhookTokenLifetimeMs is how long a webhook token stays valid; the host renews it before that. */
export const webhookTokenLifetimeMs = 600_000;

/** maxDepth is how many levels deep a body may nest. */
export const maxDepth = 64;

/** maxLine limits a line of the headless interface. A longer one is rejected without being buffered. */
export const maxLine = 12_582_912;

/** maxPrompt limits the body of a prompt, images included: it must fit into one line to an agent program. */
export const maxPrompt = 12_582_912;

/** maxCheckIn limits the body of a check-in: its message, its artifacts, and room for their escaping. */
export const maxCheckIn = 8_388_608;

/** maxMessage limits the text of a user's message. */
export const maxMessage = 1_048_576;

/** maxArtifact limits the content of one artifact of a user's message. */
export const maxArtifact = 262_144;

/** maxArtifacts is how many artifacts a user's message may have. */
export const maxArtifacts = 20;

/** maxWorkspaceName limits the name of a workspace. */
export const maxWorkspaceName = 64;

/** maxQueued is how many messages of a task may be queued. */
export const maxQueued = 50;

/** maxQueue limits the content of a task's queued messages in all, attachments as base64. */
export const maxQueue = 25_165_824;

/** maxPatch limits the patch of a Diff. */
export const maxPatch = 524_288;

/** maxWebhookBody limits the body of a webhook request. */
export const maxWebhookBody = 1_048_576;

/** maxWebhookEvents is how many events a webhook request may contain. */
export const maxWebhookEvents = 100;

/** maxEventsPage is how many events a host returns to one request for them. */
export const maxEventsPage = 500;

/** maxId limits id, toolCallId, toolName and interactionId of an event. */
export const maxId = 512;

/** maxSessionId limits the id of a session, which is its task's id. */
export const maxSessionId = 128;

/** maxTurnId limits the id of a turn. */
export const maxTurnId = 128;

/** maxEventId limits the id of an event. */
export const maxEventId = 128;

/** maxMessageId limits the messageId of a check-in, in characters. */
export const maxMessageId = 128;

/** maxHostVersion limits the bytes of a host's version. */
export const maxHostVersion = 100;

/** of limits, and of open */
export const maxSandboxEntries = 32;

/** bytes of an entry */
export const maxSandboxText = 100;

/** maxOfferedBranches limits the branches of an OfferedProject. */
export const maxOfferedBranches = 200;

export const maxPaths = 50;

/** bytes of one path */
export const maxPath = 4_096;

/** bytes of a query */
export const maxPathQuery = 256;

/** characters; GitLab takes 255 */
export const maxPullRequestTitle = 250;

/** bytes; GitHub takes 65 536 characters */
export const maxPullRequestBody = 61_440;

/** bytes of one credential's id */
export const maxCredential = 64;

/** credentials in one RevokeRequest */
export const maxCredentials = 100;

/**
 * actKeptMs is how long broker and host remember an act. A host refuses one that it does not know and that the broker
 * saw earlier.
 */
export const actKeptMs = 604_800_000;

/** defaultShareLife is how long a share link works if the request does not say it. */
export const defaultShareLife = 604_800;

/** minShareLife is the shortest life of a share link. */
export const minShareLife = 60;

/** maxShareLife is the longest life of a share link. */
export const maxShareLife = 2_592_000;

/** maxTaskShares is how many share links of a task may work at the same time. */
export const maxTaskShares = 20;

/** maxUserShares is how many share links of a user may work at the same time. */
export const maxUserShares = 200;

/** bytes */
export const maxCommitMessage = 65_536;

/** bytes of an author's name or e-mail address */
export const maxAuthorName = 200;

/** paths in one DiscardRequest */
export const maxDiscardPaths = 500;

/** bytes of a DiscardHunk */
export const maxHunk = 262_144;

/** maxTemplates is how many templates a user may have, and how many may be for all users. */
export const maxTemplates = 100;

/** maxTemplateName limits the name of a template. */
export const maxTemplateName = 100;

/** maxTemplatePrompt limits the prompt of a template, and the prompt that its variables make, in bytes. */
export const maxTemplatePrompt = 65_536;

/** maxTemplateVariables is how many variables a template may have. */
export const maxTemplateVariables = 20;

/** maxTemplateChoices is how many choices a variable may have. */
export const maxTemplateChoices = 50;

/** maxTemplateValue limits a default and a choice of a variable. */
export const maxTemplateValue = 2_000;

/** maxTerminalMessage is the most bytes of one message. */
export const maxTerminalMessage = 65_536;

/**
 * Announcement is a notice of an administrator to every user: consoles show it, and hosts show it to the clients of
 * their headless interface.
 */
export interface Announcement {
  announcementId: string;
  text: string;
  level: AnnouncementLevel;
  createdAt: string;
  /** the announcement is not shown after it */
  expiresAt: string;
}

/** AnnouncementLevel is how urgent an announcement is. */
export type AnnouncementLevel = 'info' | 'success' | 'warning' | 'error';

/**
 * AnnounceRequest is the body of POST /api/announcements. With an announcementId the request can be repeated. expiresIn
 * is in seconds.
 */
export interface AnnounceRequest {
  text: string;
  /** "" = info */
  level?: AnnouncementLevel;
  /** 0 = a day */
  expiresIn?: number;
  announcementId?: string;
}

/** AnnouncementList is the response to GET /api/announcements: the active ones, the oldest first. */
export interface AnnouncementList {
  announcements: Announcement[];
}

/**
 * HostAnnouncements is the body of PUT /announcements of an agent host: all announcements of a broker. They replace
 * those that the broker sent before.
 */
export interface HostAnnouncements {
  brokerId: string;
  announcements: Announcement[];
}

/** HostAnnouncementsResponse is the host's response to PUT /announcements. */
export interface HostAnnouncementsResponse {
  success: boolean;
  brokerId: string;
}

/** AuditAction names an act in the audit log. The part before the point is its group. */
export type AuditAction =
  | 'sign-in'
  | 'sign-in.failed'
  | 'sign-in.link' // a one-time link was made
  | 'sign-in.ended' // by another sign-in of the user, or by an administrator
  | 'sign-in.password' // the password was right, the code was missing
  | 'sign-out'
  | 'token.created'
  | 'token.revoked'
  | 'user.created'
  | 'user.password'
  | 'user.disabled'
  | 'user.enabled'
  | 'user.deleted'
  | 'user.erased' // the last row of a deleted user was removed
  | 'second-factor.enabled'
  | 'second-factor.disabled' // by the user, with a code
  | 'second-factor.reset' // by an administrator or the operator
  | 'second-factor.codes' // new recovery codes replaced the former ones
  | 'host.created'
  | 'host.changed'
  | 'host.removed'
  | 'host.reconciled'
  | 'host.installed' // an administrator had the host install an agent's program
  | 'host.cancelled' // an administrator ended such an installation
  | 'task.adopted'
  | 'task.answered' // a person allowed or denied a tool call, or answered a question
  | 'task.mode' // how much a person wants to be asked about
  | 'task.committed' // a person had the host commit the task's changes
  | 'task.discarded' // a person had the host discard changes of files
  | 'task.fetched' // a person had the host bring the remote's commits into the clone
  | 'task.pushed' // a person had the host push the task's branch
  | 'task.requested' // a person had the host open or change a pull request
  | 'task.expired' // an archived task was deleted by its retention
  | 'forge-token.added'
  | 'forge-token.removed'
  | 'share.created' // a user made a link to the transcript of a task
  | 'share.revoked'
  | 'webhook.rotated' // the secret that signs what a webhook gets was replaced
  | 'task.terminal-opened'
  | 'task.terminal-closed'
  | 'notifications.on'
  | 'notifications.off'
  | 'keys.rotated' // secrets are sealed with the present key of the keyset
  | 'audit.exported'
  | 'data.exported' // tasks and notebooks were written to an archive
  | 'data.imported';

/** AuditActorKind says what kind of caller acted. */
export type AuditActorKind =
  | 'user' // a person, or a program with one of their tokens
  | 'operator' // a command that has the database and the keyset
  | 'host' // a person at an agent host, past the broker
  | 'visitor' // a caller who is not signed in
  | 'broker'; // the broker itself

/** AuditSubjectKind says what an act concerns. */
export type AuditSubjectKind = 'user' | 'token' | 'host' | 'task' | 'webhook' | 'keyset' | 'audit' | 'data';

/** AuditActor is who acted. */
export interface AuditActor {
  kind: AuditActorKind;
  /** of the user */
  id?: string;
  /** of the user now; "" for a deleted user */
  email?: string;
  /** of the API token that was used */
  tokenId?: string;
  /** of the client */
  address?: string;
  /** how a person at a host was known: stream-token, local, unknown */
  via?: string;
}

/** AuditSubject is what an act concerns. */
export interface AuditSubject {
  kind: AuditSubjectKind;
  id?: string;
  /** a user's e-mail address now; otherwise the name at the time */
  name?: string;
}

/** AuditEntry is one act in the audit log. no grows with every entry. */
export interface AuditEntry {
  no: number;
  at: string;
  action: AuditAction;
  actor: AuditActor;
  subject: AuditSubject;
  detail?: Record<string, string>;
}

/** AuditList is a page of the audit log, the newest entry first. */
export interface AuditList {
  entries: AuditEntry[];
  nextCursor?: string;
}

/**
 * CheckInRequest is the body of POST /api/agent, which stores a message and starts its turn. A basic frontend sends
 * taskId and message only. messageId (1–128 characters, unique per task) makes the request idempotent.
 */
export interface CheckInRequest {
  taskId: string;
  message: string;
  artifacts?: ArtifactInput[];
  messageId?: string;
  bindPrompt?: boolean;
  /** 'relay': stream through the broker, even if the host is direct */
  reach?: Reach;
  /** of the session from now on; "" keeps it */
  permissionMode?: PermissionMode;
}

/** Reach describes how browsers reach an agent host's streams. */
export type Reach = 'direct' | 'relay';

/** ArtifactInput is a piece of content a user attaches to a message. */
export interface ArtifactInput {
  /** [A-Z][A-Z0-9_]{0,31}, not TOOL_USE or DIFF */
  type: string;
  content?: unknown;
}

/** CheckInResponse is the response to a check-in. A basic frontend reads its first four members. */
export interface CheckInResponse {
  success: boolean;
  sessionId: string;
  streamToken: string;
  streamUrl: string;
  messageId: string;
  turnId: string;
  expiresAt: string;
  /** 'relay' if streamUrl is on the broker */
  reach?: Reach;
  /**
   * capabilities are those of the host. A basic host has none: it takes the stream token in the query only, and the
   * frontend reports the end of the turn.
   */
  capabilities?: string[];
}

/**
 * FinishTurnRequest is the body of POST /api/agent/finish: the end of a turn of a basic host, as a frontend read it in
 * the stream. An empty finishReason is 'stop'.
 */
export interface FinishTurnRequest {
  taskId: string;
  turnId: string;
  finishReason?: FinishReason;
  reason?: string;
}

/**
 * InterruptResponse is the broker's response to POST /api/agent/interrupt. closeStream means that the host is basic: it
 * stops when the reader of its stream disconnects.
 */
export interface InterruptResponse {
  success: boolean;
  closeStream?: boolean;
}

/**
 * RestartResponse is the response to POST /api/agent/restart, and to POST /session/:id/restart on the agent host.
 * endedTurn is the turn that was open, "" for none.
 */
export interface RestartResponse {
  success: boolean;
  sessionId: string;
  endedTurn: string;
}

/**
 * InterruptRequest is the body of POST /api/agent/interrupt. turnId is the only turn to stop; "": the one that is open.
 */
export interface InterruptRequest {
  taskId: string;
  turnId?: string;
}

/** TaskIDRequest is the body of POST /api/agent/interrupt, /api/agent/restart and /api/agent/diff. */
export interface TaskIDRequest {
  taskId: string;
}

/**
 * AttachRequest is the body of POST /api/agent/attach, which opens the stream of a task without a message. reach works
 * as in a check-in.
 */
export interface AttachRequest {
  taskId: string;
  reach?: Reach;
}

/** AttachResponse is the response to an attach. */
export interface AttachResponse {
  success: boolean;
  sessionId: string;
  streamToken: string;
  streamUrl: string;
  expiresAt: string;
  agentStatus: Status;
  /** stream id just before the open turn; null when idle */
  streamCursor: string | null;
  reach?: Reach;
  /** of the host, as in CheckInResponse */
  capabilities?: string[];
}

/** TaskMode distinguishes tasks with and without an agent. */
export type TaskMode = 'agent' | 'chat';

/** CreateTaskRequest is the body of POST /api/tasks. */
export interface CreateTaskRequest {
  title: string;
  agent?: string;
  project?: string;
  hostId?: string;
  agentUrl?: string;
  agentPassword?: string;
  mode?: TaskMode;
  /** of the agent; "" leaves it to the host */
  model?: string;
  /** permissionMode is that of check-ins which name none; "" leaves it to the host. */
  permissionMode?: PermissionMode;
  /** workspace is the name of one of the user's workspaces, in which the task works. It decides host and project. */
  workspace?: string;
  /** branch is the branch of the project that the task starts from; "" = the project's default. */
  branch?: string;
}

/** Task is a task, as the broker's API returns it. */
export interface Task {
  id: string;
  title: string;
  mode: TaskMode;
  agent: string;
  project: string;
  hostId: string;
  agentUrl: string;
  agentStatus: Status;
  reason: StatusReason;
  /** id of the open turn; null if there is none */
  openTurn: string | null;
  /** basicHost means that the host neither resumes streams nor reports ends of turns. */
  basicHost?: boolean;
  lastTurn: LastTurn | null;
  openInteractions: number;
  readRev: number;
  rev: number;
  archived: boolean;
  createdAt: string;
  lastActivityAt: string;
  /** absent while no message is queued */
  queue?: TaskQueue;
  /** of its next turns; "" leaves it to the host */
  model?: string;
  /** of its next turns; "" leaves it to the host */
  permissionMode?: PermissionMode;
  /** created by name, in which the task works */
  workspace?: string;
  /** of the project, that the task starts from; "" = the project's default */
  branch?: string;
}

/** LastTurn describes how a task's newest closed turn ended. */
export interface LastTurn {
  id: string;
  finishReason: FinishReason;
  /** a TurnReason, or the agent's own words */
  reason: string;
  usage: unknown;
}

/** TaskList is a page of tasks. nextCursor is opaque, and "" on the last page. */
export interface TaskList {
  tasks: Task[];
  nextCursor: string;
}

/** Role is the author of a message. */
export type Role = 'USER' | 'ASSISTANT';

/** MessageStatus is the delivery state of a message to its host. */
export type MessageStatus = 'SENDING' | 'SENT' | 'ERROR';

/**
 * Message is one row of a task's history. Its text is "" on tool rows. seq is its position in the task, rev the task's
 * rev at the row's last change.
 */
export interface Message {
  id: string;
  seq: number;
  rev: number;
  taskId: string;
  turnId: string;
  role: Role;
  status: MessageStatus;
  message: string;
  artifacts: Artifact[];
  eventId: string;
  createdAt: string;
  /** format, metadata and timestamp of a text are as the agent sent them. */
  format?: string;
  /** an object; source_documents are shown with the text */
  metadata?: unknown;
  /** milliseconds since 1970 */
  timestamp?: unknown;
  /** 'terminal': of a turn made in the agent's terminal client */
  origin?: string;
}

/** Artifact is a piece of content of a message. */
export interface Artifact {
  id: string;
  type: string;
  content: unknown;
}

/** ToolUse is the content of a TOOL_USE artifact. */
export interface ToolUse {
  toolCallId: string;
  toolName: string;
  input: unknown;
  output: unknown;
  isError: boolean;
  state: ToolState;
  /**
   * When the host reported the call and its result, in milliseconds since 1970 of the host's clock; absent when it did
   * not say.
   */
  startedAt?: number;
  endedAt?: number;
}

/** ToolState is the progress of a tool call. */
export type ToolState =
  | 'running' // there is a call and no result yet
  | 'done'
  | 'error'
  | 'denied'
  | 'unknown'; // the turn was closed before a result came; a later result replaces it

/** MessageList is a page of messages, ascending by seq. */
export interface MessageList {
  messages: Message[];
  nextAfter: number;
  rev: number;
  /** what the request waited for did not arrive in time */
  behind?: boolean;
  /** With with=turns: how the turns of the messages ended, and their questions. */
  turns?: LastTurn[];
  interactions?: Interaction[];
}

/** Interaction is a question to the user, as the broker's API returns it. */
export interface Interaction {
  id: string;
  taskId: string;
  taskTitle: string;
  turnId: string;
  state: InteractionState;
  kind: InteractionKind;
  prompt: string;
  toolCallId?: string;
  toolName?: string;
  args?: unknown;
  level?: string;
  warning?: string;
  default?: string;
  options?: string[];
  expiresAt?: string;
  answer?: InteractionAnswer;
  createdAt: string;
}

/** TaskHint is a frame of the user's feed. It reports that the task has changed. */
export interface TaskHint {
  taskId: string;
  rev: number;
  agentStatus: Status;
  reason: StatusReason;
  openInteractions: number;
}

/** Host is an agent host registered with the broker. */
export interface Host {
  id: string;
  name: string;
  url: string;
  health: HostHealth;
  reach: Reach;
  openTurns: number;
  /** sessions of deleted tasks that the host has not ended yet */
  owedEnds?: number;
  /** a second copy of it, whose events are refused */
  copy?: HostCopy;
  createdAt: string;
}

/**
 * HostCopy is a second copy of a host: it runs on a copy of the host's data and sends events to the broker, which
 * serves the one at the host's URL.
 */
export interface HostCopy {
  /** machine and directory, as the copy says */
  place: string;
  seenAt: string;
}

/** Readiness is the answer of /healthz and /readyz, on broker and host. */
export interface Readiness {
  status: string;
  storage?: StorageState;
}

/** StorageState warns about a disk in an answer of /readyz. A full disk is an error instead: 507 storage_full. */
export type StorageState = 'low';

/** HostHealth is the result of the broker's last probe of a host. */
export type HostHealth =
  | 'unknown' // not probed yet
  | 'ok'
  | 'low-space' // it works, but its disk has little room left
  | 'full' // its disk is full: it serves reads, but no turn can start
  | 'unreachable';

/**
 * CommandList is the response to GET /session/:id/commands of an agent host, and to GET /api/tasks/:id/commands of a
 * broker: the slash commands of a session's agent.
 */
export interface CommandList {
  /** by name, at most maxCommands */
  commands: Command[];
  /** why none are known */
  problem?: string;
}

/** Command is a slash command. An agent runs it when a message begins with "/" and its name. */
export interface Command {
  /** without "/" */
  name: string;
  description?: string;
  /** what can follow the name, such as "[file]" */
  arguments?: string;
}

/**
 * Cursor names the highest event without a gap before it: seq counts from 1 within an epoch without gaps. The zero
 * Cursor {0,0} stands for no event.
 */
export interface Cursor {
  epoch: number;
  seq: number;
}

/**
 * Diff holds the changes of a session since it began: commits, staged and unstaged changes, and new files. It is the
 * response of a host's GET /session/:id/diff and, without base, the content of a DIFF artifact.
 */
export interface Diff {
  /** commit or tree the session began with */
  base?: string;
  files: DiffFile[];
  /** unified, complete files only; at most maxPatch bytes */
  patch: string;
  /** truncated reports that patch or files are incomplete. */
  truncated?: boolean;
  /** total counts all changes if files is incomplete. */
  total?: DiffTotal;
  /** names the state of the files: the same state has the same id */
  snapshot?: string;
  /** commit that is checked out, "" before the first one */
  head?: string;
  /**
   * leftOut is what the host did not read, at most maxLeftOut of leftOutCount: what files and patch say of it can be of
   * an earlier state.
   */
  leftOut?: LeftOut[];
  leftOutCount?: number;
  /**
   * innerRepositories are directories with changes that are repositories of their own, but no submodules, at most
   * maxInner of innerRepositoryCount. Their files count as those of any directory, and their history is no part of the
   * changes.
   */
  innerRepositories?: string[];
  innerRepositoryCount?: number;
}

/** DiffTotal counts the changes of a diff. */
export interface DiffTotal {
  files: number;
  additions: number;
  deletions: number;
}

/** LeftOut is a file or directory that the host did not read. path and reason together are a sentence. */
export interface LeftOut {
  path: string;
  reason: string;
}

/** DiffFile is one changed file. binary files have no line counts. */
export interface DiffFile {
  /** as ShownPath shows it */
  path: string;
  /** of a renamed file */
  oldPath?: string;
  status: DiffStatus;
  additions: number;
  deletions: number;
  binary?: boolean;
}

/** DiffStatus is the kind of change of a file. */
export type DiffStatus = 'added' | 'modified' | 'deleted' | 'renamed' | 'type-changed';

/**
 * DiffResponse is the broker's response to POST /api/agent/diff. message has the diff as its DIFF artifact. noDiffs
 * means that there is no new diff: with unchangedSince nothing changed since the diff in the message of that seq,
 * without it there are no changes at all.
 */
export interface DiffResponse {
  success: boolean;
  noDiffs?: boolean;
  message?: Message;
  unchangedSince?: number;
  /**
   * snapshot and head are those of the diff as it is now, for a commit or a discard of what is shown. A message of
   * before can have others.
   */
  snapshot?: string;
  head?: string;
}

/**
 * Code is the kind of a failure. Clients branch on it, so a code is never renamed or reused. The table from Code to
 * status is in internal/httpapi.
 */
export type Code =
  | 'invalid' // 400: the request is wrong; repeating it is useless
  | 'unauthorized' // 401: no caller, or not one that may do this
  | 'token_expired' // 401: the signature is right, the token has expired; renew it
  | 'signature_missing' // 401: the session's host signs its posts, and this one is not signed
  | 'signature_invalid' // 401: the body was changed, or signed with another agent password
  | 'signature_time' // 401: signed too early or too late; carries the broker's time
  | 'second_factor' // 401: the code of the second factor is missing or wrong
  | 'forbidden' // 403: known caller, not allowed (cross-site, not an admin)
  | 'quota_exceeded' // 403: the user has as much as they may have
  | 'session_key' // 403: the session needs the key of the broker that opened it
  | 'not_found' // 404: absent, or the caller may not know it exists
  | 'method_not_allowed' // 405, with Allow
  | 'conflict' // 409: same id, other content; or the state moved on
  | 'diverged' // 409: known (epoch,seq) with other content
  | 'gap' // 409: events are missing before this one; carries a cursor
  | 'fenced' // 409: the event's epoch is over
  | 'unverified' // 409: the task's host does not confirm the event's epoch
  | 'busy' // 409: a turn is open
  | 'attached' // 409: a terminal client works in the session; force takes over
  | 'no_workspace' // 409: the session's workspace does not exist, or is another user's
  | 'no_branch' // 409: the project has no such branch for the session to start from
  | 'nothing_to_commit' // 409: the workspace has no change since its last commit
  | 'unmerged' // 409: a merge or rebase of the workspace is not finished
  | 'no_remote' // 409: the session's project has no remote to push to
  | 'diverged_branch' // 409: the remote's branch has commits that the workspace's has not
  | 'push_rejected' // 409: the remote refused the push, such as one to a protected branch
  | 'no_turn' // 409: this token cannot start a turn
  | 'prompt_mismatch' // 409: the prompt differs from the checked-in message
  | 'foreign_broker' // 409: the session belongs to another broker
  | 'answered' // 409: the interaction has another answer
  | 'disconnected' // 409: the user disconnected this agent
  | 'gone' // 410: deleted
  | 'expired' // 410: the interaction or agent session has expired
  | 'too_large' // 413: over a limit
  | 'unsupported_media' // 415: not JSON, or encoded
  | 'too_many_requests' // 429, with Retry-After
  | 'internal' // 500: a bug or an outage of this server; details are only in the log
  | 'bad_gateway' // 502: the agent host failed
  | 'remote_failed' // 502: a remote or a forge failed, or refused the host
  | 'unavailable' // 503, with Retry-After
  | 'two_copies' // 503: another copy of the host serves at its address; nothing is decided
  | 'storage_full'; // 507: the disk is full; acknowledged data is not lost

/** ErrorBody is the one error shape of both servers. */
export interface ErrorBody {
  error: string;
  code: Code;
  hint?: string;
}

/** EventType is the type member of a webhook event. */
export type EventType =
  | 'text'
  | 'tool-call'
  | 'tool-result'
  | 'finish'
  | 'status'
  | 'interaction'
  | 'error'
  | 'dropped';

/**
 * Event is one persisted fact: the host posts it to the webhook and keeps it in its journal. Protocol section 1.4 lists
 * the members of each type; Validate checks them. eventId, epoch, seq and turnId are absent in the events of a basic
 * host. Use ParseEvent to read an Event. json.Unmarshal alone does not check it.
 */
export interface Event {
  sessionId?: string;
  type: EventType;
  eventId?: string;
  epoch?: number;
  seq?: number;
  turnId?: string;
  /** a JSON number, kept as sent */
  timestamp?: unknown;
  /** 'terminal', or "" for a turn that a prompt to the host began */
  origin?: string;
  /** text */
  id?: string;
  text?: string;
  /** as the agent sent it, such as markdown */
  format?: string;
  /** an object of the agent, as it sent it */
  metadata?: unknown;
  /** tool-call, tool-result, interaction */
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
  output?: unknown;
  isError?: boolean;
  denied?: boolean;
  /** the host shortened input or output */
  truncated?: boolean;
  /** finish; status and dropped use reason too */
  finishReason?: FinishReason;
  reason?: string;
  totalUsage?: unknown;
  /** status */
  status?: Status;
  /** interaction */
  interactionId?: string;
  state?: InteractionState;
  kind?: InteractionKind;
  prompt?: string;
  args?: unknown;
  level?: string;
  /** the danger of the call, beside level */
  warning?: string;
  default?: string;
  options?: string[];
  expiresAt?: string;
  answer?: InteractionAnswer;
  /** error */
  message?: string;
  code?: string;
}

/** FinishReason describes how a turn ended. The event's reason has the details. */
export type FinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';

/** TurnReason is the reason of a finish event that Bellhop itself sends. Agents give reasons in words of their own. */
export type TurnReason =
  | 'aborted' // the user interrupted
  | 'host-restarted' // the host crashed or stopped during the turn
  | 'not-started' // announced, never prompted: replaced, or its tokens have expired
  | 'host-lost' // closed by the broker, because the host does not have the turn
  | 'agent-exited' // the agent program exited during the turn
  | 'agent-restarted' // a person restarted the agent program
  | 'agent-stopped'; // the operator stopped the agents of the project

/** Status is the activity of an agent. */
export type Status =
  | 'none' // no program has been started
  | 'idle'
  | 'busy';

/** StatusReason says why the status is 'idle' while something goes on. */
export type StatusReason =
  | '' // nothing goes on, or the status is another
  | 'waiting' // a question to the user is open, or a basic host is silent behind its answer
  | 'checking' // the connection to the agent is lost, with a question open
  | 'terminal'; // a program in a user's terminal works in the session's workspace

/** InteractionKind distinguishes a permission from a free question. */
export type InteractionKind = 'confirm' | 'ask';

/** InteractionState is the state of a question to the user. */
export type InteractionState = 'open' | 'resolved' | 'expired';

/** InteractionAnswer is the user's answer: approved for confirm, text for ask. */
export interface InteractionAnswer {
  approved?: boolean;
  text?: string;
  reason?: string;
  /** remembered is the shape of the calls of the session that a yes also covers. */
  remembered?: string;
  /**
   * by says who answered: the broker's id of the user, "stream-token" for a holder of such a token, "local" on the
   * host's own machine. It is "" if no user answered: a rule decided, or the turn ended with the question open. Then
   * reason says so.
   */
  by?: string;
}

/** FileKind is the kind of an entry of a directory. */
export type FileKind =
  | 'file'
  | 'directory'
  | 'link' // a symbolic link, which is never followed
  | 'other'; // a FIFO, a socket or a device, which is never opened

/** FileEntry is an entry of a directory of a workspace. */
export interface FileEntry {
  name: string;
  kind: FileKind;
  /** bytes of a file */
  size?: number;
  /** where a link leads */
  target?: string;
  /** git ignores it */
  ignored?: boolean;
}

/**
 * FileList is the response to GET /session/:id/files of an agent host, and to GET /api/tasks/:id/files of a broker: a
 * page of a directory, directories first.
 */
export interface FileList {
  /** of the directory; "" is the workspace */
  path: string;
  entries: FileEntry[];
  /** entries of the whole directory */
  total: number;
  /** "after" of the next page */
  next?: string;
  /** entries that are left out because their names are no UTF-8 */
  unnamed?: number;
  /** the directory has more than maxDirectory entries */
  cut?: boolean;
}

/** ContentKind says how the content of a file can be shown. */
export type ContentKind = 'text' | 'image' | 'binary';

/**
 * FileContent is the response to GET /session/:id/file of an agent host, and to GET /api/tasks/:id/file of a broker: a
 * file of a workspace, or a piece of a long text.
 */
export interface FileContent {
  path: string;
  kind: ContentKind;
  mediaType: string;
  /** bytes of the whole file */
  size: number;
  /** with the session's secrets masked */
  text?: string;
  /** of an image, in base64 */
  data?: string;
  /** the byte with which text begins */
  offset: number;
  /** the offset of the next piece */
  end: number;
  /** the text continues at end */
  more?: boolean;
  /** why an image is not shown */
  note?: string;
}

/** FileMatch is a line that a search found. before, match and after are parts of the line. */
export interface FileMatch {
  path: string;
  /** from 1 */
  line: number;
  before?: string;
  match: string;
  after?: string;
}

/**
 * FileMatches is the response to GET /session/:id/search of an agent host, and to GET /api/tasks/:id/search of a
 * broker.
 */
export interface FileMatches {
  /** at most maxMatches */
  matches: FileMatch[];
  /** that were searched */
  files: number;
  /** files that are binary, or longer than maxSearched */
  skipped?: number;
  /** further lines may match: the search reached a limit */
  more?: boolean;
}

/** ForgeToken is a user's own token for a forge, without the token itself: a broker never shows that again. */
export interface ForgeToken {
  id: string;
  /** host name in the addresses of remotes, with a port if they have one */
  forge: string;
  kind: ForgeKind;
  createdAt: string;
  /** when it was last sent to a host for an act; null if never */
  lastUsedAt: string | null;
}

/** ForgeTokenList is the response to GET /api/forge-tokens. */
export interface ForgeTokenList {
  tokens: ForgeToken[];
}

/**
 * ForgeCredential is a user's own token for a forge. It is the body of POST /api/forge-tokens of a broker, and a part
 * of the bodies that a broker sends to a host for one act of the user.
 */
export interface ForgeCredential {
  /** as of ForgeToken; a broker also takes the forge's address */
  forge: string;
  /** a broker knows that of public forges */
  kind?: ForgeKind;
  token: string;
}

/** Installation is the last installation of an agent's program on a host. */
export interface Installation {
  id: string;
  /** as OfferedAgent.program */
  program: string;
  /** of the program */
  title: string;
  /** the one that the host was tested with */
  version: string;
  state: InstallationState;
  /** of a running one */
  step?: InstallationStep;
  /** done and total are bytes while downloading; total is 0 if it is unknown. */
  done: number;
  total: number;
  startedAt: string;
  /** absent while it runs */
  endedAt?: string;
  /** the last ones that it printed */
  lines: string[];
  /** why it failed */
  error?: string;
  /** of the error */
  code?: Code;
  /** what the operator can do about it */
  hint?: string;
}

/** InstallationState is how far an installation is. */
export type InstallationState =
  | 'running'
  | 'installed'
  | 'present' // the version was installed before, nothing was changed
  | 'failed'
  | 'cancelled';

/** InstallationStep is what an installation does at present. */
export type InstallationStep =
  | 'wait' // for another process that installs the program
  | 'download'
  | 'unpack'
  | 'npm'
  | 'check';

/**
 * InstallationList is the response to GET /installations of a host and to GET /api/hosts/:id/installations of a broker.
 */
export interface InstallationList {
  /** the host lets administrators of brokers install programs */
  allowed: boolean;
  installations: Installation[];
}

/** InstallRequest has a host install the program of an agent. */
export interface InstallRequest {
  /** as OfferedAgent.program */
  program: string;
}

/**
 * Line is one message of the headless interface (protocol section 4): one JSON object per line on stdio, one text
 * message on a WebSocket. One struct has the members of all types; absent ones are not written.
 */
export interface Line {
  type: string;
  session_id?: string;
  /** when the line was made: milliseconds since 1970 */
  timestamp?: unknown;
  /** status */
  level?: string;
  /** status */
  message?: string;
  /** status: of an error that answers a line */
  code?: Code;
  /** status: the type of that line, "" if it has none */
  command?: string;
  /** hello */
  version?: string;
  /** hello: names, if they are known */
  tools?: string[];
  /** resolved: who answered */
  by?: string;
  /** chunk, tool_message, message */
  content?: string;
  /** message */
  format?: string;
  metadata?: unknown;
  /** tool_start, tool_message */
  id?: string;
  name?: string;
  arguments?: unknown;
  is_error?: boolean;
  /** ask, confirm, answer, confirmation */
  request_id?: string;
  prompt?: string;
  default?: string;
  tool_name?: string;
  args?: unknown;
  security_warning?: SecurityWarning;
  /** state */
  state?: string;
  /** state, confirmation */
  reason?: string;
  /** input, answer */
  text?: string;
  attachments?: Attachment[];
  /** input: as in PromptRequest */
  force?: boolean;
  /** confirmation */
  value?: boolean;
  remember?: string;
}

/** SecurityWarning describes the danger of a confirmed call. */
export interface SecurityWarning {
  /** INFO, WARN or CRITICAL */
  level: string;
  message: string;
}

/**
 * PermissionMode is how much of a session's work a person wants to be asked about. The rules of the host's policy file
 * hold in every mode, and CRITICAL calls are always asked.
 */
export type PermissionMode =
  | 'plan' // calls that change something are denied
  | 'ask' // the rules as they are; also ""
  | 'accept-edits' // files of the workspace are written without asking
  | 'auto'; // only CRITICAL calls are asked

/** AgentSessionStatus is the state of a third-party agent's connection. */
export type AgentSessionStatus =
  | 'active'
  | 'expired' // inactive for too long; renewable
  | 'disconnected'; // by the user, who alone can renew it

/**
 * AgentSession is a third-party coding agent's connection to a user's notebook. notebookId is absent after the user
 * deleted the notebook.
 */
export interface AgentSession {
  id: string;
  userId: string;
  notebookId?: string;
  agentName: string;
  agentIdentifier: string;
  status: AgentSessionStatus;
  webhookUrl?: string;
  lastActivity: string;
  metadata: Record<string, unknown>;
  createdAt: string;
}

/**
 * Notebook has the sources that one agent saved for one user. agentStatus is the state of that agent's connection.
 * unread counts the agent's messages and the failures that the user's page has not shown; only routes of the user have
 * it.
 */
export interface Notebook {
  id: string;
  userId: string;
  title: string;
  description: string;
  agentName: string;
  agentIcon: string;
  agentSessionId: string;
  agentStatus: AgentSessionStatus;
  isAgentNotebook: boolean;
  unread?: number;
  createdAt: string;
}

/** Verdict is the result of a verification. */
export type Verdict = 'verified' | 'failed' | 'unsupported';

/** Claim says how far verified code was checked. */
export type Claim = 'parses' | 'type-checks';

/** Diagnostic is one finding of a parser. line and column start at 1; they are 0 if the parser does not report them. */
export interface Diagnostic {
  line: number;
  column: number;
  message: string;
  severity: string;
}

/**
 * Verification is the result of a parser or compiler front end. The code was not run. claim and verifiedAt are set only
 * for the verdict "verified". reason says why code was not checked, or not further than claim. summary is a sentence
 * for people.
 */
export interface Verification {
  language: string;
  verdict: Verdict;
  claim?: Claim;
  summary: string;
  reason?: string;
  tool: string;
  toolVersion: string;
  diagnostics: Diagnostic[];
  verifiedAt: string | null;
  digest: string;
}

/**
 * Source is a piece of code in a notebook, at its newest version. In lists, content is left out (and contentOmitted
 * set) beyond a total size. unread is as in Notebook.
 */
export interface Source {
  id: string;
  userId: string;
  notebookId: string;
  title: string;
  type: string;
  content: string;
  contentOmitted?: boolean;
  version: number;
  unread?: number;
  metadata: SourceMetadata;
}

/**
 * SourceMetadata describes a source. isVerified is true only for the verdict "verified". verification is null until a
 * version was verified.
 */
export interface SourceMetadata {
  language: string;
  isVerified: boolean;
  verification: Verification | null;
  verifiedAt: string | null;
  agentSessionId: string;
  agentName: string;
  agentStatus: AgentSessionStatus;
  originalContext: string;
  custom?: Record<string, unknown>;
}

/**
 * SourceVersion is one state of a source's code; diff is unified, against the version before. In lists, both are left
 * out (and contentOmitted set) beyond a total size.
 */
export interface SourceVersion {
  version: number;
  content: string;
  contentOmitted?: boolean;
  diff: string;
  description: string;
  author: string;
  messageId?: string;
  verification: Verification | null;
  createdAt: string;
}

/** FollowupRole is the author of a message about a source. */
export type FollowupRole = 'user' | 'agent';

/** FollowupMessage is a message of the conversation about a source. */
export interface FollowupMessage {
  id: string;
  sourceId: string;
  role: FollowupRole;
  content: string;
  timestamp: string;
  metadata: FollowupMetadata;
}

/**
 * FollowupMetadata is the state of a message. A user's message is delivered when the agent has it, and read when the
 * agent has answered. An agent's message is read when the user's page has shown it. failure says why a message was not
 * delivered or, if it was, why the agent refused it. progress is set while a message is on its way to a webhook.
 */
export interface FollowupMetadata {
  delivered: boolean;
  read: boolean;
  inReplyTo?: string;
  failure?: string;
  progress?: FollowupProgress;
  codeModification?: CodeModification;
  attachments?: FollowupAttachment[];
}

/** ProgressState is the state of a message on its way to an agent's webhook. */
export type ProgressState =
  | 'sending' // due now, or in flight
  | 'retrying' // an attempt failed; the next one is at NextAttemptAt
  | 'waiting' // behind an earlier question about the same source
  | 'held'; // the webhook is disabled

/** FollowupProgress says how far the delivery of a message is. lastError is of the last attempt. */
export interface FollowupProgress {
  state: ProgressState;
  attempts: number;
  nextAttemptAt?: string;
  lastError?: string;
}

/** CodeModification is a new version of the source that came with a message. */
export interface CodeModification {
  version: number;
  description: string;
  diff: string;
}

/** FollowupAttachment is text that comes with a question or an answer. type is a media type. */
export interface FollowupAttachment {
  name: string;
  type: string;
  content: string;
}

/** DeliverySubject names what a delivery to an agent is about. */
export interface DeliverySubject {
  agentSessionId: string;
  agentName: string;
  sourceId: string;
  sourceTitle: string;
  /** its first 200 characters */
  question: string;
}

/** Conversation has the messages about a source. */
export interface Conversation {
  sourceId: string;
  notebookId: string;
  userId: string;
  agentSessionId: string;
  lastMessageAt: string | null;
  messages: FollowupMessage[];
}

/**
 * Followup is a user's question that waits for the agent's answer. In a list, sourceCode and originalContext are sent
 * once per source: sourceCodeIn names the message that has them. sourceCodeOmitted reports code beyond the list's total
 * size. conversationHistory begins with the agent's last answer before the question, and a list has each of its
 * messages once.
 */
export interface Followup {
  id: string;
  sourceId: string;
  sourceTitle: string;
  sourceVersion: number;
  sourceLanguage: string;
  sourceCode?: string;
  sourceCodeIn?: string;
  sourceCodeOmitted?: boolean;
  originalContext?: string;
  content: string;
  timestamp: string;
  attachments?: FollowupAttachment[];
  conversationHistory: FollowupMessage[];
}

/** FollowupDelivery is the body of a webhook to an agent. */
export interface FollowupDelivery {
  /** followup_message */
  type: string;
  sourceId: string;
  sourceTitle: string;
  sourceCode: string;
  sourceLanguage: string;
  message: string;
  attachments?: FollowupAttachment[];
  conversationHistory: FollowupMessage[];
  userId: string;
  timestamp: string;
  messageId: string;
}

/**
 * AgentHint is a frame of the user's feed. It reports a change of an agent session: event names the change, sourceId
 * the source, if it concerns one.
 */
export interface AgentHint {
  agentSessionId: string;
  rev: number;
  status: AgentSessionStatus;
  event: string;
  sourceId: string;
}

/** NotificationEvent is what browsers are notified of while the console is closed, section 3. */
export type NotificationEvent =
  | 'question' // a question to the user is open
  | 'finished' // a turn has ended
  | 'failed' // a turn has failed, or its agent or host is lost
  | 'followup'; // an agent has answered a question about a source, or cannot

/**
 * Notification is the message to a browser. Only the browser can open it: the push service gets it encrypted. It has no
 * secret, and its texts are one harmless paragraph each.
 */
export interface Notification {
  /** the same when it is sent again */
  id: string;
  event: NotificationEvent;
  taskId?: string;
  interactionId?: string;
  sourceId?: string;
  title: string;
  text: string;
  /**
   * answerable reports that Allow and Deny may be offered: the text is the whole question, whose level is not CRITICAL.
   */
  answerable?: boolean;
  at: string;
}

/** NotificationSubscription is a browser that gets notifications, as its user sees it. */
export interface NotificationSubscription {
  id: string;
  /** what the browser says about itself */
  browser: string;
  /** origin of its push service */
  service: string;
  events: NotificationEvent[];
  /** it belongs to the sign-in of the request */
  current: boolean;
  createdAt: string;
  lastDeliveredAt?: string;
}

/**
 * HostOffer is what tasks on an agent host can choose from: the response to GET /offer of a host. It has no secret and
 * no path of the machine.
 */
export interface HostOffer {
  /** of tasks that name none */
  defaultAgent: string;
  /** by id */
  agents: OfferedAgent[];
  /** by name */
  projects: OfferedProject[];
  /** from the strictest to the mildest */
  permissionModes: PermissionMode[];
  /** notices are what the host says to every user at present, such as that its policy file is wrong. */
  notices?: HostNotice[];
  /** sandbox is what the host's agents are kept from; absent when the host does not say. */
  sandbox?: OfferedSandbox;
  /** version is the one of the host's program; absent when the host does not say. */
  version?: string;
}

/** SandboxState is how much of a machine the sandbox of a host keeps from agents. */
export type SandboxState =
  | 'full' // every escape that the host tried at its start failed
  | 'partial' // the essential ones failed, others succeeded
  | 'none'; // agents can use what the host's user can

/**
 * OfferedSandbox is the level of a host's sandbox, as measured at its start. Its texts are fixed words: reasons, which
 * may have paths of the machine, are in the host's /status alone.
 */
export interface OfferedSandbox {
  state: SandboxState;
  /** version of the kernel's interface; 0 without it */
  landlock: number;
  /** files, processes and shared memory of its own */
  namespaces: boolean;
  /** of sessions that name no other: open, proxy or none */
  network: string;
  /** programs have another user id than the host */
  ownUser: boolean;
  /** of each session: memory, pids, cpu */
  limits: string[];
  /** what programs can do all the same */
  open: string[];
}

/** HostNotice is a notice of an agent host itself. Its limits are those of an announcement. */
export interface HostNotice {
  id: string;
  level: AnnouncementLevel;
  text: string;
}

/** OfferedAgent is an agent of a host, also one whose program is missing there. */
export interface OfferedAgent {
  id: string;
  title: string;
  kind: string;
  /** its program was found */
  installed: boolean;
  /** of the program, if that is known */
  version?: string;
  /** hasKey: the host has a key of the agent's language model; absent when the host cannot know. */
  hasKey?: boolean;
  /** keys are the variables of the host's environment that can hold the key, each also with the suffix _FILE. */
  keys?: string[];
  /** program is what the host lets administrators of the broker install for the agent; absent if it does not. */
  program?: string;
  /** scripted: it follows a script, and no language model answers. */
  scripted?: boolean;
  /** defaultModel is the one of tasks that name none; absent when the agent chooses. */
  defaultModel?: string;
  /** models are those that the agent reported in its last session; empty when it reports none. */
  models: Choice[];
  /** as models: the agent's own modes of work */
  modes: Choice[];
  /** attachments are the kinds of files that the agent takes; absent when the host cannot know. */
  attachments?: AttachmentKind[];
  /** why it cannot run */
  problem?: string;
  /** what the operator can do about it */
  hint?: string;
}

/** Choice is a model or a mode of an agent. */
export interface Choice {
  id: string;
  name: string;
}

/** OfferedProject is a project of a host. */
export interface OfferedProject {
  name: string;
  /** isRepository: it is a git repository. Sessions work in clones of their own, unless it is shared. */
  isRepository: boolean;
  /** where new clones start */
  defaultBranch?: string;
  /** the latest commit first, at most maxOfferedBranches */
  branches: string[];
  /** shared: sessions work in the project's own directory, and start from no branch. */
  shared?: boolean;
  /** why it cannot be read */
  problem?: string;
}

/** OfferList is the response to GET /api/agents: what the registered hosts offer. */
export interface OfferList {
  /** installed on at least one host, by id */
  agents: OfferedChoice[];
  /** by name */
  hosts: OfferingHost[];
  /** defaultAgent is the one of tasks that name none; absent when each host's own default is. */
  defaultAgent?: string;
}

/** OfferedChoice is an agent that a task can name. */
export interface OfferedChoice {
  id: string;
  title: string;
  /** hosts where it is installed */
  hostIds: string[];
}

/** OfferingHost is a registered host with its last offer. */
export interface OfferingHost {
  hostId: string;
  name: string;
  /** it answered when the broker asked last */
  online: boolean;
  /** when it made the offer; absent without one */
  offeredAt?: string;
  /** of an offline host the last one; absent when none is known */
  offer?: HostOffer;
  /** why the broker has no current offer */
  problem?: string;
}

/**
 * OnlyCopies is what exists only in a workspace, so that deleting the workspace would lose it. Without items that is
 * nothing.
 */
export interface OnlyCopies {
  /** of this state of the workspace, for who confirms that it may be lost */
  id: string;
  items: OnlyCopy[];
}

/** OnlyCopy is a file, directory, ref or repository that exists only in a workspace. */
export interface OnlyCopy {
  kind: OnlyCopyKind;
  /** path, which ends in a slash for all below a directory; ref; or why the workspace cannot be read */
  name: string;
  /** of files, commits or stashes; 0 = it is none of these */
  count: number;
}

/** OnlyCopyKind is the kind of an OnlyCopy. */
export type OnlyCopyKind =
  | 'changed' // files that differ from the commit that is checked out
  | 'hidden' // the same, and git was told to pass over them
  | 'staged' // content that only the index has
  | 'ignored' // ignored files that no tool makes again
  | 'unread' // what the host cannot read, or that is too large
  | 'repository' // a repository inside; Count is its files
  | 'submodule'
  | 'worktree' // another work tree of the workspace's repository
  | 'commits' // that a ref or HEAD leads to; those of an earlier item do not count again
  | 'object' // a ref to a tag, file or tree
  | 'stash'
  | 'reflog' // commits that git's logs lead to, and no ref
  | 'unknown'; // the workspace cannot be read

/**
 * Part is one element of the native stream: the AI SDK's TextStreamPart as JSON (see docs/architecture.md). One struct
 * has the members of all types; absent ones are left out of the JSON. event is set on the part that completes a
 * persisted event, so that a client can merge stream and history.
 */
export interface Part {
  type: PartType;
  id?: string;
  /** text-delta, reasoning-delta */
  text?: string;
  /** text-end, with the two below: as the agent sent them */
  format?: string;
  metadata?: unknown;
  /** milliseconds since 1970 */
  timestamp?: unknown;
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
  output?: unknown;
  dynamic?: boolean;
  approvalId?: string;
  toolCall?: ToolCall;
  approved?: boolean;
  /** tool-approval-request, with the two below */
  prompt?: string;
  expiresAt?: string;
  security_warning?: SecurityWarning;
  finishReason?: FinishReason;
  rawFinishReason?: string;
  totalUsage?: unknown;
  reason?: string;
  /** a string or {name,message} */
  error?: unknown;
  /** data-… */
  data?: unknown;
  event?: PartEvent;
}

/** PartEvent links a part to the event that it completes. */
export interface PartEvent {
  id: string;
  seq: number;
  turnId: string;
}

/** ToolCall is the call inside an approval request. */
export interface ToolCall {
  /** "tool-call" */
  type: string;
  toolCallId: string;
  toolName: string;
  input: unknown;
}

/**
 * PartType is the type of a part that Bellhop's own hosts send. It is an alias of string, because other hosts send any
 * part of the AI SDK. Clients ignore unknown types.
 */
export type PartType =
  | 'text-start'
  | 'text-delta'
  | 'text-end'
  | 'reasoning-start'
  | 'reasoning-delta'
  | 'reasoning-end'
  | 'tool-call'
  | 'tool-result'
  | 'tool-error'
  | 'tool-output-denied'
  | 'tool-approval-request'
  | 'tool-approval-response'
  | 'data-ask'
  | 'data-answer' // ends a data-ask: {state, answer}
  | 'data-notice' // transient: {level, message}
  | 'data-queued' // the turn waits for another: {turnId, position}
  | 'data-context-restored' // transient: ContextRestored
  | 'data-resume'
  | 'finish'
  | 'abort'
  | 'error';

/** Resume is the data of a data-resume part, the first frame of a resumed stream (sent without an SSE id). */
export interface Resume {
  verdict: ResumeVerdict;
  /** stream id of the first frame that follows, "" if none */
  from: string;
  /** the newest stream id at that moment, "" if none */
  to: string;
  /** ids of the questions that still wait for an answer */
  openInteractions: string[];
}

/** ResumeVerdict states whether a stream continues exactly where its reader left it. */
export type ResumeVerdict =
  | 'ok' // the frames that follow are the next ones
  | 'gap'; // drop the turn's parts: the turn is replayed from its start

/**
 * ContextRestored is the data of a data-context-restored part. The agent had lost its memory and got this part of the
 * host's journal as a replacement.
 */
export interface ContextRestored {
  turns: number;
  bytes: number;
  /** whether older turns, or parts of long texts, were left out */
  truncated: boolean;
}

/** Ask is the data of a data-ask part: a question that is not a tool permission. */
export interface Ask {
  prompt: string;
  default?: string;
  options?: string[];
}

/**
 * PathList is the response to GET /session/:id/paths and GET /projects/:project/paths of an agent host, and to GET
 * /api/tasks/:id/paths and GET /api/paths of a broker: the files that a message can name.
 */
export interface PathList {
  /** the best match first, at most maxPaths; a directory ends in "/" */
  paths: string[];
  /** further paths match, or the host has not read all */
  more?: boolean;
  /** why the broker knows none */
  problem?: string;
}

/** ForgeKind is the kind of a forge: whose API it has. */
export type ForgeKind = 'github' | 'gitlab' | 'gitea';

/**
 * PullRequestRequest is the body of POST /session/:id/pull-request of an agent host, and of POST
 * /api/tasks/:id/pull-request of a broker.
 */
export interface PullRequestRequest {
  title: string;
  body: string;
}

/** PullRequest is a pull request of a task; at GitLab a merge request. */
export interface PullRequest {
  /** http or https */
  url: string;
  number: number;
  /** title and body as the host has set them last */
  title: string;
  body: string;
}

/** PullRequestResponse is the response to a PullRequestRequest. */
export interface PullRequestResponse {
  success: boolean;
  sessionId: string;
  url: string;
  number: number;
  /** false: an open one of the branch was changed */
  created: boolean;
  branch: string;
  base: string;
}

/** PushRequest is the body of POST /session/:id/push of an agent host, and of POST /api/tasks/:id/push of a broker. */
export interface PushRequest {
  /**
   * replaces allows the push to remove commits: it is the commit that the branch has at the remote. Without it a push
   * only adds commits.
   */
  replaces?: string;
}

/** PushResponse is the response to a PushRequest. A repeated request gets it again. */
export interface PushResponse {
  success: boolean;
  sessionId: string;
  /** that the branch has at the remote now */
  commit: string;
  branch: string;
  /** its address, without passwords */
  remote: string;
  /** the commit that the branch had there and that was removed; "" for none */
  replaced: string;
}

/**
 * FetchResponse is the response to POST /session/:id/fetch of an agent host, and to POST /api/tasks/:id/fetch of a
 * broker. The commits that it names are in the workspace, under refs/remotes/origin.
 */
export interface FetchResponse {
  success: boolean;
  sessionId: string;
  /** that is checked out */
  branch: string;
  /** branch of the project that the work is meant for; "" if none is known */
  base: string;
  /** commit of branch at the remote that the workspace's branch does not contain; "" for none */
  diverged: string;
  /** commit of base at the remote that the workspace's branch does not contain; "" for none */
  baseCommit: string;
}

/** RemoteState is what the host knows of the remote to which it pushes a workspace's branch. */
export interface RemoteState {
  /** without passwords */
  address: string;
  /** branch of the project that the work is meant for */
  base?: string;
  /** the commit that was pushed last */
  pushed?: string;
  /** commits that no branch of the remote had when the host or the agent looked */
  ahead: number;
  /** diverged is the commit that the branch has at the remote, if the workspace's branch does not contain it. */
  diverged?: string;
  /** forge is absent if the host knows no forge for the remote: it opens no pull requests then. */
  forge?: ForgeKind;
  /** that the host opened, or changed last, for the branch */
  pullRequest?: PullRequest;
  /** takesToken: the host uses a user's own token in place of its own. */
  takesToken?: boolean;
  /** baseMoved: the last push or fetch found commits in base that the workspace's branch does not contain. */
  baseMoved?: boolean;
}

/** QueuePause says why the broker starts none of a task's queued messages. "" means that it starts them. */
export type QueuePause =
  | 'stopped' // a user stopped the agent
  | 'failed' // a turn failed, or the host refused a message
  | 'unknown' // whether the host received the last message is not known
  | 'user-disabled'; // the user is disabled; the queue goes on when they are enabled

/** TaskQueue describes a task's queued messages, in the task. rev changes with each change of the queue. */
export interface TaskQueue {
  messages: number;
  rev: number;
  paused?: QueuePause;
  /** of the turn or the refusal that paused it */
  reason?: string;
}

/** QueuedState is the state of a queued message. */
export type QueuedState = 'waiting' | 'sending' | 'sent';

/**
 * QueuedMessage is a message that the broker sends when the agent is idle. id is the message's id, in the queue and in
 * the task's history.
 */
export interface QueuedMessage {
  id: string;
  message: string;
  artifacts?: ArtifactInput[];
  attachments?: QueuedAttachment[];
  state: QueuedState;
  /** why the last attempt to send it failed */
  failure?: string;
  /** of the next attempt, after a failure */
  retryAt?: string;
  createdAt: string;
}

/** QueuedAttachment describes an attachment of a queued message. bytes is the size of its content. */
export interface QueuedAttachment {
  type: AttachmentType;
  mediaType: string;
  name?: string;
  bytes: number;
}

/** Queue is the answer to GET /api/tasks/:id/queue, the next message first. */
export interface Queue {
  messages: QueuedMessage[];
  rev: number;
  paused?: QueuePause;
  reason?: string;
}

/**
 * QueueMessageRequest is the body of POST /api/tasks/:id/queue. messageId makes the request idempotent, as in a
 * check-in.
 */
export interface QueueMessageRequest {
  message: string;
  messageId?: string;
  artifacts?: ArtifactInput[];
  attachments?: Attachment[];
}

/** QueueChange is the body of PATCH /api/tasks/:id/queue: false resumes the queue. */
export interface QueueChange {
  paused: boolean | null;
}

/**
 * QueuedMessageChange is the body of PATCH /api/tasks/:id/queue/:messageId. position counts the waiting messages from
 * 0; one beyond the last is the last.
 */
export interface QueuedMessageChange {
  message?: string;
  position?: number;
}

/**
 * TurnPrompt is what a turn was asked, from its host's journal. A host adds it to events that it sends again, so that a
 * broker whose database went back in time gets the user's message back. messageId is "" when the broker did not send
 * it.
 */
export interface TurnPrompt {
  turnId: string;
  messageId?: string;
  text: string;
  at: string;
  /** text is only the beginning */
  truncated?: boolean;
}

/**
 * ReconcileRequest is the body of POST /reconcile on the agent host. The host compares those of the broker's sessions
 * that it has not compared since the incarnation began. With force it compares others again: those that sessions names,
 * or all of them if it names none.
 */
export interface ReconcileRequest {
  brokerId: string;
  incarnation: string;
  force?: boolean;
  sessions?: string[];
}

/**
 * ReconcileResponse is the response to POST /reconcile. It does not wait for the comparisons; pending falls to 0 when
 * they are done.
 */
export interface ReconcileResponse {
  /** of the broker */
  sessions: number;
  /** not compared yet */
  pending: number;
  /** compared, and the broker has no such task */
  unknown: number;
  /** events of all sessions but the unknown ones */
  unacknowledged: number;
  /** acknowledged are the positions of the newest acknowledgements. */
  acknowledged: SessionCursor[];
}

/** SessionCursor is a position in a session. */
export interface SessionCursor {
  sessionId: string;
  cursor: Cursor;
}

/** BoundSession is a session that is bound to a broker, as GET /session on the agent host lists it. */
export interface BoundSession {
  sessionId: string;
  /** of the task, as the broker named it last */
  title?: string;
  /** the id of the task's user */
  owner?: string;
  agent: string;
  project: string;
  /** of the newest event */
  cursor: Cursor;
  /** the broker has everything up to here */
  acknowledged: Cursor;
  /** a list leaves out title and owner: they need the session's key */
  keyed?: boolean;
  /** "" if none is; only of GET /session/:id, nil from hosts that do not tell */
  openTurn?: string;
  createdAt: string;
  lastActivityAt: string;
}

/** BoundSessionList is a page of sessions by id. nextAfter is "" on the last page. */
export interface BoundSessionList {
  sessions: BoundSession[];
  nextAfter: string;
}

/** Orphan is a session of a host whose task the broker does not have. */
export interface Orphan {
  session: BoundSession;
  hostId: string;
  hostName: string;
  /** of the owner; "" if the broker does not have that user */
  email: string;
}

/** OrphanList is the response of GET /api/orphans. unreachable names the hosts that could not be asked. */
export interface OrphanList {
  orphans: Orphan[];
  unreachable: string[];
}

/**
 * AdoptRequest is the body of POST /api/orphans/:sessionId. email names the user who gets the task; "" is the owner.
 * title "" is the title that the host knows.
 */
export interface AdoptRequest {
  hostId: string;
  email?: string;
  title?: string;
}

/**
 * OpenSessionRequest is the body of POST /session on the agent host. A basic broker sends only sessionId and
 * webhookUrl.
 */
export interface OpenSessionRequest {
  sessionId: string;
  webhookUrl: string;
  brokerId?: string;
  cursor?: Cursor;
  agent?: string;
  project?: string;
  model?: string;
  turn?: AnnouncedTurn;
  /** the token may read, answer and interrupt, but not prompt */
  attach?: boolean;
  /** bindKey binds the key in 'Bellhop-Session-Key' to the session, unless it has one. */
  bindKey?: boolean;
  /** "" keeps the session's */
  permissionMode?: PermissionMode;
  /** one unbroken life of the broker's database */
  incarnation?: string;
  /** of the task, for its adoption */
  title?: string;
  /** the id of the task's user, for its adoption */
  owner?: string;
  /**
   * credential is the id of the sign-in or API token that the stream token is for. Hosts that do not list 'credentials'
   * ignore it.
   */
  credential?: string;
  /**
   * workspace is the name of a workspace of the session's user, in which the session works instead of one of its own.
   * Hosts that do not list 'workspaces' ignore it.
   */
  workspace?: string;
  /** namedAnswers: this broker has 'Bellhop-Broker' and 'Bellhop-Request' in each of its answers to the host. */
  namedAnswers?: boolean;
  /**
   * branch is the branch of the project that a new session starts from; "" = the project's default. Hosts that do not
   * list 'branches' ignore it.
   */
  branch?: string;
}

/**
 * AnnouncedTurn is a turn that the token of the response may start once. promptSha256 is the hex SHA-256 of the
 * message's UTF-8 bytes; with "" the token accepts any prompt.
 */
export interface AnnouncedTurn {
  id: string;
  promptSha256?: string;
  /** of the message that the turn works on */
  messageId?: string;
  /**
   * rev is the task's revision at the check-in. The host refuses a turn that it does not know with a lower one than the
   * last that it took of the same incarnation: a copy of a request that was given up may come late.
   */
  rev?: number;
}

/** OpenSessionResponse is the response to POST /session. A basic host sends only token. */
export interface OpenSessionResponse {
  /** that of the request; a host with capabilities names it */
  sessionId?: string;
  token: string;
  expiresAt?: string;
  streamUrl?: string;
  cursor?: Cursor;
  /** stream id just before the open turn; null when idle */
  streamCursor: string | null;
  status?: Status;
  reason?: StatusReason;
  /** the running turn, or "" */
  openTurn?: string;
  /** prompted turns behind the open one */
  queuedTurns?: string[];
  /** attached: a terminal client is open, so prompts without force get 'attached'. */
  attached?: boolean;
  capabilities?: string[];
  /** the session's; "" is 'ask' */
  permissionMode?: PermissionMode;
}

/**
 * RevokeRequest asks an agent host to end the stream tokens and the streams that it issued to credentials, in all
 * sessions of the broker.
 */
export interface RevokeRequest {
  brokerId: string;
  credentials: string[];
}

/** RevokeResponse repeats the broker's id, which proves that a host wrote it. */
export interface RevokeResponse {
  success: boolean;
  brokerId: string;
}

/** PromptRequest is the body of POST /stream/:sessionId on the agent host. */
export interface PromptRequest {
  prompt: string;
  attachments?: Attachment[];
  whenBusy?: WhenBusy;
  /** also while a terminal client is attached, which is closed first */
  force?: boolean;
}

/**
 * WhenBusy decides about a prompt while another turn is open. The stream of a queued prompt begins with a data-queued
 * part.
 */
export type WhenBusy =
  | 'reject' // answers 409 busy
  | 'queue' // starts it after the open turn and all queued ones
  | 'interrupt'; // ends the open turn and starts it next

/** Attachment is an image or a document; data is base64 (RFC 4648 section 4). */
export interface Attachment {
  type: AttachmentType;
  mediaType?: string;
  /** of the file, for the agent */
  name?: string;
  data: string;
}

/** AttachmentType is the kind of an attachment. */
export type AttachmentType = 'image' | 'document';

/** AttachmentKind is what an agent can take beside a text. */
export type AttachmentKind = 'image' | 'text' | 'pdf';

/** AnswerRequest answers an interaction, on the broker and on the host. */
export interface AnswerRequest {
  approved?: boolean;
  text?: string;
  /** "" or 'session' */
  remember?: string;
  reason?: string;
  /** by is who answers, for a remembered answer. The broker sets it; a value from another sender is replaced. */
  by?: string;
}

/**
 * Confirmation is a host's response to a call that changes a session. sessionId proves that a host wrote it: a
 * gateway's {"success":true} does not name the session. Basic hosts name none.
 */
export interface Confirmation {
  success: boolean;
  sessionId?: string;
  /** of DELETE */
  worktreeKept?: boolean;
  /** kept is what exists only in the workspaces that DELETE kept. */
  kept?: OnlyCopies;
}

/**
 * SessionOnlyCopies is the response to GET /session/:id/only-copies on the agent host: what ending the session would
 * lose. DELETE with its id loses it.
 */
export interface SessionOnlyCopies {
  sessionId: string;
  onlyCopies: OnlyCopies;
}

/**
 * EventsResponse is the response to GET /session/:id/events on the agent host. Pass epoch and nextAfter as "epoch" and
 * "after" of the next request. Fewer events than the limit mean that epoch has no more; then epoch is currentEpoch, or
 * the next request begins with a later epoch.
 */
export interface EventsResponse {
  /** see Confirmation */
  sessionId?: string;
  epoch: number;
  events: unknown[];
  nextAfter: number;
  status: Status;
  openTurn?: string;
  /** of the session's newest event */
  currentEpoch?: number;
  queuedTurns?: string[];
  /** announcedTurn is one whose prompt has not come, and still may. */
  announcedTurn?: string;
  /** prompts are those of the turns that events belong to, if the request asked for them. */
  prompts?: TurnPrompt[];
}

/** IngestResponse is the response of the webhook. cursor is null for events of a basic host. */
export interface IngestResponse {
  success: boolean;
  accepted: number;
  duplicates: number;
  cursor: Cursor | null;
  /** refusals carry it too */
  incarnation?: string;
}

/**
 * WebhookBatch is a webhook body with several events. The broker stores all of them or none. prompts belong to turns of
 * these events.
 */
export interface WebhookBatch {
  sessionId: string;
  events: unknown[];
  prompts?: TurnPrompt[];
}

/**
 * RenewResponse is the response to the renewal of a webhook token (protocol 1.5). cursor is the task's: a host that is
 * ahead of it rewinds.
 */
export interface RenewResponse {
  webhookUrl: string;
  expiresAt: string;
  cursor?: Cursor;
  incarnation?: string;
}

/** SuccessResponse is the response of a call that returns no data. */
export interface SuccessResponse {
  success: boolean;
}

/** TaskDeletion is the response to DELETE /api/tasks/:id on the broker. */
export interface TaskDeletion {
  success: boolean;
  /** what exists only in the workspaces that the host kept */
  kept?: OnlyCopies;
  /** pending says that the host has not confirmed yet that the session ended: its workspaces may still exist. */
  pending?: boolean;
}

/** ShareRequest is the body of POST /api/tasks/:id/shares. */
export interface ShareRequest {
  /** seconds; 0 = defaultShareLife */
  expiresIn?: number;
}

/** Share is a share link, as its owner sees it. token and url are set only in the response that created it. */
export interface Share {
  id: string;
  taskId: string;
  /** now */
  taskTitle: string;
  /** that readers see: the task's when it was shared */
  title: string;
  createdAt: string;
  expiresAt: string;
  lastUsedAt: string | null;
  token?: string;
  /** of the page; the token is its fragment */
  url?: string;
}

/** ShareList is the answer of GET /api/shares and GET /api/tasks/:id/shares, the newest link first. */
export interface ShareList {
  shares: Share[];
}

/**
 * SharedTranscript is a page of a transcript, as readers of a share link see it: without secrets, files, the words of
 * answers, and what came after it was shared.
 */
export interface SharedTranscript {
  title: string;
  sharedAt: string;
  expiresAt: string;
  messages: Message[];
  nextAfter: number;
  /** there are messages behind nextAfter */
  more: boolean;
  turns: LastTurn[];
  interactions: Interaction[];
}

/** ShipStep is something that a host does with the work of a session. */
export type ShipStep =
  | 'commit'
  | 'discard'
  | 'discard-hunk' // discards a part of a file
  | 'fetch'
  | 'push'
  | 'pull-request';

/** CommitAuthor is the author of a commit. */
export interface CommitAuthor {
  name: string;
  email: string;
}

/** CommitRequest is the body of POST /session/:id/commit of an agent host. */
export interface CommitRequest {
  message: string;
  author: CommitAuthor;
  /** of the diff that was shown */
  snapshot: string;
  /** of the same diff: the parent of the new commit */
  head: string;
}

/** CommitTaskRequest is the body of POST /api/tasks/:id/commit of a broker, which adds the author. */
export interface CommitTaskRequest {
  message: string;
  /** of the diff that was shown */
  snapshot: string;
  /** of the same diff: the parent of the new commit */
  head: string;
}

/**
 * CommitResponse is the response to POST /session/:id/commit of an agent host, and to POST /api/tasks/:id/commit of a
 * broker. A repeated request gets the commit that the first one made.
 */
export interface CommitResponse {
  success: boolean;
  sessionId: string;
  /** its id */
  commit: string;
  branch: string;
  /** that the commit changes */
  files: number;
  additions: number;
  deletions: number;
  /**
   * innerRepositories are repositories inside whose files the commit has, and whose own history it does not have, as in
   * a Diff.
   */
  innerRepositories?: string[];
  innerRepositoryCount?: number;
}

/**
 * DiscardRequest is the body of POST /session/:id/discard of an agent host, and of POST /api/tasks/:id/discard of a
 * broker. It has either paths or a hunk.
 */
export interface DiscardRequest {
  /** of files, as a diff has them; see ShownPath */
  paths?: string[];
  /** a part of one file */
  hunk?: DiscardHunk;
  /** of the diff that was shown */
  snapshot: string;
}

/** DiscardHunk is a part of the changes of a file, as the patch of a diff has it. */
export interface DiscardHunk {
  /** of the file as it is now */
  path: string;
  /** from the line that begins with @@ to the last line of the hunk */
  text: string;
}

/** DiscardResponse is the response to a DiscardRequest. */
export interface DiscardResponse {
  success: boolean;
  sessionId: string;
  /** that the request names, each once, one of them in part for a hunk */
  files: number;
}

/** TemplateVariable is what a template asks for. The prompt has {{name}} in its place. */
export interface TemplateVariable {
  /** a letter, then letters, digits and _; at most 40 */
  name: string;
  default?: string;
  /** an empty value is refused */
  required?: boolean;
  /** other values are refused */
  choices?: string[];
}

/**
 * Template is a task template, also as the body of POST /api/templates and PUT /api/templates/:id. There id and times
 * are ignored: the broker sets them.
 */
export interface Template {
  id: string;
  name: string;
  prompt: string;
  variables?: TemplateVariable[];
  /** forAll: every user sees it. Only administrators may set it, and it never changes. */
  forAll?: boolean;
  /** Where and how its tasks run, as in CreateTaskRequest; "" leaves it to the user who starts one. */
  agent?: string;
  model?: string;
  project?: string;
  hostId?: string;
  branch?: string;
  permissionMode?: PermissionMode;
  createdAt: string;
  updatedAt: string;
}

/** TemplateList has the templates that a user sees, by name: their own, and those for all users. */
export interface TemplateList {
  templates: Template[];
}

/** FillTemplateRequest is the body of POST /api/templates/:id/fill. */
export interface FillTemplateRequest {
  values: Record<string, string>;
}

/**
 * FilledTemplate is the answer: the prompt with its values, and where and how the task runs. What the template names
 * and no host offers any more is in gone, and left out of task.
 */
export interface FilledTemplate {
  prompt: string;
  task: CreateTaskRequest;
  gone: TemplateGone[];
}

/** TemplateGone is a member of a template whose value no host offers. */
export interface TemplateGone {
  /** agent, model, project or hostId */
  member: string;
  value: string;
}

/** TerminalSize is the size of a terminal in characters, each side 1 to 1,000. */
export interface TerminalSize {
  columns: number;
  rows: number;
}

/**
 * TerminalRequest is a text message of a client. The first one of a broker's connection has size, the first one of a
 * page's own connection to the host has size and ticket.
 */
export interface TerminalRequest {
  /** of the first message: the terminal to show again; "" opens one */
  id?: string;
  /** the terminal gets this size */
  size?: TerminalSize;
  /** of the first message: the client wants a ticket */
  direct?: boolean;
  ticket?: string;
  /** bytes of output that the client has shown since its last message */
  shown?: number;
  /** the terminal ends with its programs */
  end?: boolean;
}

/** TerminalNotice is a text message of a host, or of a broker in front of it. */
export interface TerminalNotice {
  /** of a broker: where the page may connect to the host itself */
  url?: string;
  /** what follows is output of this terminal */
  id?: string;
  /** with id: how many bytes of it were shown before, here or elsewhere */
  repeated?: number;
  /** for one connection to the host itself, within 30 seconds */
  ticket?: string;
  /** why nothing more is shown */
  ended?: string;
  /** the exit code, if the shell has exited */
  exit?: number;
  /** why no terminal is shown */
  error?: ErrorBody;
}

/**
 * Usage is what a turn used. It is read from the object totalUsage of a finish event, which has the member names of the
 * AI SDK and three more: costUSD, contextTokens, contextWindow. Agents report different members; 0 = not reported.
 */
export interface Usage {
  /** includes those from the cache */
  inputTokens?: number;
  cachedInputTokens?: number;
  outputTokens?: number;
  reasoningTokens?: number;
  totalTokens?: number;
  /** US dollars, as the agent estimates them */
  costUSD?: number;
  /** in the model's context after the turn */
  contextTokens?: number;
  /** how many tokens the context can hold */
  contextWindow?: number;
}

/** TaskUsage is the response to GET /api/tasks/:id/usage of a broker: the sums over a task's closed turns. */
export interface TaskUsage {
  /** closed turns whose agent reported what they used */
  turns: number;
  /** closed turns whose agent did not */
  unreported: number;
  /** sums; the context is that of the newest turn which reported one */
  usage: Usage;
}

/** WebhookEvent is the type of a message to a user's own webhook, section 3. */
export type WebhookEvent = 'turn.finished' | 'interaction.opened' | 'followup.answered' | 'followup.failed';

/** WebhookFormat is what the body of a user's webhook looks like. */
export type WebhookFormat =
  | '' // the event as JSON
  | 'ntfy' // a message to a topic of ntfy
  | 'slack'; // a message to an incoming webhook of Slack

/** WorkspaceState is what a workspace holds. */
export interface WorkspaceState {
  /** that is checked out; "" without git */
  branch: string;
  /** has uncommitted changes */
  dirty: boolean;
  metadata: Record<string, string>;
  /** dir is the directory on the host in which the agent works: its tools name files below it. */
  dir?: string;
  /** what the host does with the session's work */
  ships?: ShipStep[];
  /** terminal: users can open terminals there. A broker sets it for users who may. */
  terminal?: boolean;
  /** where the host pushes it; absent if the project has no remote */
  remote?: RemoteState;
}

/** Workspace is a workspace that an agent created by name. It belongs to the user of the session. */
export interface Workspace {
  name: string;
  /** "" = an own repository, without a project */
  project: string;
  branch: string;
  dirty: boolean;
  /** commits that no other branch and no remote has */
  unpushed: number;
  metadata: Record<string, string>;
  createdAt: string;
  /** session, which may be deleted */
  createdBy: string;
  /** session that works in it; absent for none */
  usedBy?: string;
}

/**
 * WorkspaceList is the response to GET /workspaces of an agent host: the workspaces of the user whose key
 * 'Bellhop-Owner-Key' has.
 */
export interface WorkspaceList {
  /** the oldest first */
  workspaces: Workspace[];
}

/**
 * SessionWorkspace is the response to GET /session/:id/workspace of an agent host, and to GET /api/tasks/:id/workspace
 * of a broker.
 */
export interface SessionWorkspace {
  /** workspace is nil if the session has none yet, or if the host does not describe it. */
  workspace: WorkspaceState | null;
}

/** HostWorkspaceList is the response to GET /api/workspaces: the caller's workspaces on every registered host. */
export interface HostWorkspaceList {
  /** by name */
  hosts: WorkspaceHost[];
}

/** WorkspaceHost is a registered host with the caller's workspaces there. */
export interface WorkspaceHost {
  hostId: string;
  name: string;
  workspaces: Workspace[];
  /** why they are not known */
  problem?: string;
}
