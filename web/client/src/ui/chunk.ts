import type { Notice } from '../part.js';
import type { Ask, Resume, SecurityWarning } from '../wire.js';

/** The state of a question. The id of the data part is the question's. */
export interface AskData extends Ask {
  state: 'open' | 'resolved' | 'expired';
  answer?: string | undefined;
}

/**
 * A permission for pages without the SDK's approvals (AI SDK 5, or mode `live`). The id of the data part is the
 * approval's.
 */
export interface ApprovalData {
  toolCallId: string;
  toolName: string;
  input: unknown;
  /** The level and reason of the danger, if the host names one. */
  security_warning?: SecurityWarning | undefined;
  state: 'open' | 'resolved';
  approved?: boolean | undefined;
  reason?: string | undefined;
}

interface ToolChunk {
  toolCallId: string;
  dynamic: true;
  providerExecuted: true;
}

/** The UIMessageChunks that the converter makes. The AI SDK 5, 6 and 7 read or ignore each of them. */
export type UiChunk =
  | { type: 'start'; messageId: string | undefined }
  | { type: 'start-step' | 'finish-step' }
  | { type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; id: string }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | ({ type: 'tool-input-start'; toolName: string; title?: string | undefined } & ToolChunk)
  | { type: 'tool-input-delta'; toolCallId: string; inputTextDelta: string }
  | ({ type: 'tool-input-available'; toolName: string; input: unknown; title?: string | undefined } & ToolChunk)
  | ({
      type: 'tool-input-error';
      toolName: string;
      input: unknown;
      errorText: string;
      title?: string | undefined;
    } & ToolChunk)
  | ({ type: 'tool-output-available'; output: unknown; preliminary?: boolean | undefined } & ToolChunk)
  | ({ type: 'tool-output-error'; errorText: string } & ToolChunk)
  | ({ type: 'tool-output-denied' } & ToolChunk)
  | {
      type: 'tool-approval-request';
      approvalId: string;
      toolCallId: string;
      reason?: string | undefined;
      isAutomatic?: boolean | undefined;
      signature?: string | undefined;
    }
  | { type: 'tool-approval-response'; approvalId: string; approved: boolean; reason?: string | undefined }
  | { type: 'source-url'; sourceId: string; url: string; title?: string | undefined }
  | { type: 'source-document'; sourceId: string; mediaType: string; title: string; filename?: string | undefined }
  | { type: 'file'; mediaType: string; url: string }
  | { type: 'data-ask'; id: string; data: AskData }
  | { type: 'data-approval'; id: string; data: ApprovalData }
  | { type: 'data-notice'; data: Notice; transient: true }
  | { type: 'data-queued'; data: unknown; transient: true }
  | { type: 'data-context-restored'; data: unknown; transient: true }
  | { type: 'data-resume'; data: Resume; transient: true }
  | { type: 'finish'; finishReason: string; messageMetadata?: TurnMetadata | undefined }
  | { type: 'abort'; reason?: string | undefined }
  | { type: 'error'; errorText: string };

/** Metadata of a finished turn's message. */
export interface TurnMetadata {
  usage?: unknown;
  /** Why the turn ended, in more detail than finishReason: `aborted`, `host-restarted`, … */
  reason?: string | undefined;
}
