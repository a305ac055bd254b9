/** Shapes of the broker's API (protocol section 1). Times are RFC 3339 strings in UTC. */

export type AgentStatus = 'none' | 'idle' | 'busy';
export type FinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';
/** How a browser gets to a stream: straight to the agent host, or through the broker. */
export type Reach = 'direct' | 'relay';

export interface LastTurn {
  id: string;
  finishReason: FinishReason;
  reason: string;
  usage: unknown;
}

export interface Task {
  id: string;
  title: string;
  mode: 'agent' | 'chat';
  agent: string;
  project: string;
  hostId: string;
  agentUrl: string;
  agentStatus: AgentStatus;
  /** `waiting` with status idle: an open question. */
  reason: string;
  /** Id of the open turn, "" when none. */
  openTurn: string;
  lastTurn: LastTurn | null;
  openInteractions: number;
  readRev: number;
  rev: number;
  archived: boolean;
  createdAt: string;
  lastActivityAt: string;
}

export interface NewTask {
  title: string;
  agent?: string;
  project?: string;
  hostId?: string;
  agentUrl?: string;
  agentPassword?: string;
  mode?: 'agent' | 'chat';
}

export interface TaskChange {
  title?: string;
  archived?: boolean;
  readRev?: number;
}

export interface TaskList {
  tasks: Task[];
  /** Opaque; "" at the end. */
  nextCursor: string;
}

export interface ToolUse {
  toolCallId: string;
  toolName: string;
  input: unknown;
  output: unknown;
  isError: boolean;
  state: 'running' | 'done' | 'error' | 'denied';
}

export interface DiffFile {
  path: string;
  status: string;
  additions: number;
  deletions: number;
}

export interface Diff {
  files: DiffFile[];
  patch: string;
  truncated?: boolean;
}

export interface OtherArtifact {
  id: string;
  type: string;
  content: unknown;
}

/** A piece of content of a message; `isToolUse` and `isDiff` tell the kinds apart. */
export type Artifact = OtherArtifact;

export function isToolUse(artifact: Artifact): artifact is Artifact & { type: 'TOOL_USE'; content: ToolUse } {
  return artifact.type === 'TOOL_USE';
}

export function isDiff(artifact: Artifact): artifact is Artifact & { type: 'DIFF'; content: Diff } {
  return artifact.type === 'DIFF';
}

export interface ArtifactInput {
  type: string;
  content: unknown;
}

/** A row a user sees. `message` is "" on tool rows. */
export interface Message {
  id: string;
  seq: number;
  rev: number;
  taskId: string;
  turnId: string;
  role: 'USER' | 'ASSISTANT';
  status: 'SENDING' | 'SENT' | 'ERROR';
  message: string;
  artifacts: Artifact[];
  eventId: string;
  createdAt: string;
}

export interface MessageList {
  messages: Message[];
  nextAfter: number;
  rev: number;
}

export interface InteractionAnswer {
  approved?: boolean;
  text?: string;
  reason?: string;
}

export interface Interaction {
  id: string;
  taskId: string;
  taskTitle: string;
  turnId: string;
  state: 'open' | 'resolved' | 'expired';
  kind: 'confirm' | 'ask';
  prompt: string;
  toolCallId?: string;
  toolName?: string;
  args?: unknown;
  level?: string;
  default?: string;
  options?: string[];
  expiresAt?: string;
  answer?: InteractionAnswer;
  createdAt: string;
}

/** What a user says to an interaction: `approved` to a confirm, `text` to an ask. */
export interface Answer {
  approved?: boolean | undefined;
  text?: string | undefined;
  reason?: string | undefined;
  /** Allow the same tool for the rest of the session. */
  remember?: 'session' | undefined;
}

export interface CheckIn {
  taskId: string;
  message: string;
  artifacts?: ArtifactInput[];
  /** 1–128 characters, unique per task; makes the check-in idempotent. */
  messageId?: string;
  bindPrompt?: boolean;
  reach?: Reach;
}

export interface CheckedIn {
  success: true;
  sessionId: string;
  streamToken: string;
  streamUrl: string;
  messageId: string;
  turnId: string;
  expiresAt: string;
  reach?: Reach;
}

export interface Attached {
  success: true;
  sessionId: string;
  streamToken: string;
  streamUrl: string;
  expiresAt: string;
  agentStatus: AgentStatus;
  /** Stream id just before the open turn; null when idle. */
  streamCursor: string | null;
  reach?: Reach;
}

export interface TaskHint {
  taskId: string;
  rev: number;
  agentStatus: AgentStatus;
  reason: string;
  openInteractions: number;
}

export interface AgentHint {
  agentSessionId: string;
  rev: number;
  status: 'active' | 'expired' | 'disconnected';
  event: string;
  sourceId: string;
}

/** An image for the agent; `data` is base64. */
export interface Attachment {
  type: 'image';
  mediaType: string;
  data: string;
}

/** What a host does with a prompt while a turn is open; `reject` answers 409 busy. */
export type WhenBusy = 'reject' | 'queue' | 'interrupt';
