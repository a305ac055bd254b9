/** Shapes of the broker's API that the client package does not know, because only consoles need them. */
export type {
  AgentHint, AgentStatus, Answer, Artifact, Diff, DiffFile, Interaction, LastTurn, Message, MessageList, NewTask, Task, TaskHint, TaskList, ToolUse,
} from '@bellhop/client';

export interface Host {
  id: string;
  name: string;
  url: string;
  health: 'unknown' | 'ok' | 'unreachable';
  openTurns: number;
  reach?: 'direct' | 'relay';
  createdAt: string;
}

export interface User {
  id: string;
  email: string;
  admin: boolean;
  createdAt: string;
}
