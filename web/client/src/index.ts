export { AgentClient, type ClientOptions, type RequestOptions } from './agent.js';
export { BellhopClient } from './client.js';
export { BellhopError } from './error.js';
export type { FeedOptions, TaskFeedEvent, UserFeedEvent } from './feed.js';
export type { ConnectionDetail, ConnectionState, FollowOptions, OnConnection } from './follow.js';
export { errorText, isTerminal } from './part.js';
export type { Answered, Ask, NativePart, NativeToolCall, Notice, PartEvent, Resume } from './part.js';
export { Turn, type PromptOptions, type StreamItem } from './turn.js';
export { isDiff, isToolUse } from './wire.js';
export type {
  AgentHint, AgentStatus, Answer, Artifact, ArtifactInput, Attached, Attachment, CheckedIn, CheckIn, Diff, DiffFile, FinishReason,
  Interaction, InteractionAnswer, LastTurn, Message, MessageList, NewTask, Reach, Task, TaskChange, TaskHint, TaskList, ToolUse, WhenBusy,
} from './wire.js';
