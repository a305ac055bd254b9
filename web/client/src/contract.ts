/** Additions to the generated contract (`wire.ts`): types narrower than in Go, guards, and bodies whose types the Go
 * package `protocol` does not own. */
import type { AnswerRequest, Artifact, AttachmentType, Diff, ToolUse } from './wire.js';

/** Selects a page of tasks. `q` has words of titles and messages. */
export interface TaskQuery {
  cursor?: string;
  limit?: number;
  q?: string;
  archived?: boolean;
  state?: 'waiting' | 'working' | 'failed';
}

/** The changes of `PATCH /api/tasks/:id`. */
export interface TaskChange {
  title?: string;
  archived?: boolean;
  readRev?: number;
}

/** An answer to an interaction: `approved` to a confirm, `text` to an ask. */
export type Answer = { [Name in keyof AnswerRequest]: AnswerRequest[Name] | undefined } & {
  /** Allow the same tool for the rest of the session. */
  remember?: 'session' | undefined;
};

/** An image for the agent; `data` is base64. Only programs on stdio may leave the media type out. */
export interface Attachment {
  type: AttachmentType;
  mediaType: string;
  data: string;
}

export function isToolUse(artifact: Artifact): artifact is Artifact & { type: 'TOOL_USE'; content: ToolUse } {
  return artifact.type === 'TOOL_USE';
}

export function isDiff(artifact: Artifact): artifact is Artifact & { type: 'DIFF'; content: Diff } {
  return artifact.type === 'DIFF';
}
