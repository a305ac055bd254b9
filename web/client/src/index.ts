export { AgentClient } from './agent.js';
export { BellhopClient } from './client.js';
export { isDiff, isToolUse } from './contract.js';
export type {
  AgentStatus,
  Answer,
  Attached,
  Attachment,
  CheckedIn,
  CheckIn,
  NewTask,
  TaskChange,
  TaskQuery,
} from './contract.js';
export { BellhopError } from './error.js';
export type { FeedOptions, TaskFeedEvent, UserFeedEvent } from './feed.js';
export type { ConnectionDetail, ConnectionState, FollowOptions, OnConnection } from './follow.js';
export type { ClientOptions, RequestOptions } from './options.js';
export { errorText, isTerminal } from './part.js';
export type { Answered, NativePart, NativeToolCall, Notice } from './part.js';
export { Turn, type PromptOptions, type StreamItem, type TurnEnd } from './turn.js';
export { maxMessage, maxPrompt } from './wire.js';
export type * from './wire.js';
