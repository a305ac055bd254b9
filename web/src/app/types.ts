export type {
  AgentHint,
  AgentStatus,
  Answer,
  Artifact,
  Diff,
  DiffFile,
  FinishReason,
  Host,
  Interaction,
  LastTurn,
  Message,
  MessageList,
  NewTask,
  Task,
  TaskHint,
  TaskList,
  ToolUse,
  TurnReason,
  WebhookEvent,
} from '@bellhop/client';

/** A user of the broker. Only consoles need this shape, so the client package leaves it out. */
export interface User {
  id: string;
  email: string;
  admin: boolean;
  createdAt: string;
}
