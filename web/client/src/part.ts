/** Parts of a native stream: the AI SDK's TextStreamPart as JSON, as versions 5, 6 and 7 write it. Members that are
 * not needed to show a turn are optional, so a host may send only text, tools and a finish. */

import type { Ask, InteractionAnswer, PartEvent, Resume, SecurityWarning } from './wire.js';

export interface NativeToolCall {
  toolCallId: string;
  toolName: string;
  input?: unknown;
  title?: string;
  dynamic?: boolean;
  providerExecuted?: boolean;
  invalid?: boolean;
  error?: unknown;
}

export interface Answered {
  state: 'resolved' | 'expired';
  answer?: InteractionAnswer;
}

export interface Notice {
  level: string;
  message: string;
}

interface Block {
  id: string;
}

type Body =
  | { type: 'start' | 'start-step' | 'finish-step' | 'raw' | 'ping' | 'custom' | 'steering-message' | 'reasoning-file' }
  | ({ type: 'text-start' | 'reasoning-start' | 'reasoning-end' } & Block)
  | ({ type: 'text-end'; format?: string; metadata?: Record<string, unknown>; timestamp?: number } & Block)
  | ({ type: 'text-delta' | 'reasoning-delta'; text: string } & Block)
  | ({ type: 'tool-input-start'; toolName: string; title?: string; inputEncoding?: 'json' | 'text' } & Block)
  | ({ type: 'tool-input-delta'; delta: string } & Block)
  | ({ type: 'tool-input-end' } & Block)
  | ({ type: 'tool-call' } & NativeToolCall)
  | ({ type: 'tool-result'; output?: unknown; preliminary?: boolean } & NativeToolCall)
  | ({ type: 'tool-error' } & NativeToolCall)
  | { type: 'tool-output-denied'; toolCallId: string; toolName?: string }
  | {
      type: 'tool-approval-request';
      approvalId: string;
      toolCall: NativeToolCall;
      prompt?: string;
      expiresAt?: string;
      security_warning?: SecurityWarning;
      reason?: string;
      isAutomatic?: boolean;
      signature?: string;
    }
  | {
      type: 'tool-approval-response';
      approvalId: string;
      approved: boolean;
      reason?: string;
      toolCall?: NativeToolCall;
    }
  | {
      type: 'source';
      sourceType: 'url' | 'document';
      id: string;
      url?: string;
      title?: string;
      mediaType?: string;
      filename?: string;
    }
  | { type: 'file'; file: { mediaType: string; base64?: string; base64Data?: string } }
  | { type: 'finish'; finishReason?: string; rawFinishReason?: string; totalUsage?: unknown }
  | { type: 'abort'; reason?: string }
  | { type: 'error'; error: unknown }
  | { type: 'data-ask'; id: string; data: Ask }
  | { type: 'data-answer'; id: string; data: Answered }
  | { type: 'data-notice'; data: Notice }
  | { type: 'data-queued'; data?: unknown }
  | { type: 'data-context-restored'; data?: unknown }
  | { type: 'data-resume'; data: Resume };

/** Readers ignore parts whose type they do not know. */
export type NativePart = Body & { event?: PartEvent };

/** Whether the part ends its turn's stream. */
export function isTerminal(part: NativePart): part is Extract<NativePart, { type: 'finish' | 'abort' | 'error' }> {
  return /^(finish|abort|error)$/.test(part.type);
}

/** Returns the error of a part as text. Hosts send a string or {name, message}. */
export function errorText(error: unknown): string {
  const { message = error } = (error ?? {}) as { message?: unknown };
  return (typeof message === 'string' && message) || 'Failed';
}
