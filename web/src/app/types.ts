export type {
  AgentHint,
  Answer,
  Artifact,
  AttachmentKind,
  Command,
  CommandList,
  Diff,
  DiffFile,
  FileContent,
  FileEntry,
  FileList,
  FileMatch,
  FileMatches,
  FinishReason,
  Host,
  HostWorkspaceList,
  Interaction,
  LastTurn,
  Message,
  MessageList,
  OfferedAgent,
  OfferedProject,
  OfferingHost,
  OfferList,
  PathList,
  PermissionMode,
  Queue,
  QueuedMessage,
  Task,
  TaskHint,
  TaskList,
  TaskQueue,
  TaskUsage,
  TerminalNotice,
  TerminalRequest,
  ToolUse,
  TurnReason,
  Usage,
  WebhookEvent,
  Workspace,
  WorkspaceHost,
  WorkspaceState,
} from '@bellhop/client';

/** A user of the broker. Only consoles need this shape, so the client package leaves it out. */
export interface User {
  id: string;
  email: string;
  admin: boolean;
  createdAt: string;
}
