import { errorText, type NativePart, type NativeToolCall } from '../part.js';
import type { ApprovalData, UiChunk } from './chunk.js';

type Of<T extends NativePart['type']> = Extract<NativePart, { type: T }>;

type Call = Partial<NativeToolCall> & { toolCallId: string };

type Result =
  | { type: 'tool-output-available'; output: unknown; preliminary: boolean | undefined }
  | { type: 'tool-output-error'; errorText: string }
  | { type: 'tool-output-denied' };

/** How far a tool call was shown: 1 its input began, 2 it was called, 3 it is settled. */
type Progress = 1 | 2 | 3;

type Show = (chunk: UiChunk) => void;

/** Returns the conversion of `tool-…` parts, which ignores parts of other types. `push` adds a chunk; `show` adds
 * one that belongs to a step and begins a step if none is open. `isOpen` returns whether the user still has to
 * answer. `live`: approvals are data parts too, for pages without the SDK's approvals. */
export function toolChunks(push: Show, show: Show, isOpen: (id: string) => boolean, live: boolean) {
  const progress = new Map<string, Progress>();

  /** Returns whether the call had not reached that progress yet. */
  const advance = (id: string, to: Progress) => (progress.get(id) ?? 0) < to && progress.set(id, to);
  /** Shows a call once. An invalid call is settled at once, because the later error only repeats it. */
  const call = ({ toolCallId, toolName = 'tool', input = {}, title, invalid, error }: Call) => {
    if (!advance(toolCallId, 2)) return;
    const shown = { ...remote(toolCallId), toolName, input, title };
    if (!invalid) return show({ type: 'tool-input-available', ...shown });
    advance(toolCallId, 3);
    show({ type: 'tool-input-error', ...shown, errorText: errorText(error) });
  };
  const settle = (part: Call, result: Result, preliminary?: boolean) => {
    const { toolCallId } = part;
    call(part);
    if (progress.get(toolCallId) === 3) return;
    if (!preliminary) advance(toolCallId, 3);
    push({ ...remote(toolCallId), ...result });
  };
  const { request, response } = approvalChunks(push, show, isOpen, live, progress);

  return (part: NativePart): void => {
    switch (part.type) {
      case 'tool-input-start':
        if (advance(part.id, 1))
          show({ type: part.type, ...remote(part.id), toolName: part.toolName, title: part.title });
        break;
      case 'tool-input-delta':
        if (progress.get(part.id) === 1) show({ type: part.type, toolCallId: part.id, inputTextDelta: part.delta });
        break;
      case 'tool-call':
        return call(part);
      case 'tool-result': {
        const { preliminary, output = null } = part;
        return settle(part, { type: 'tool-output-available', output, preliminary }, preliminary);
      }
      case 'tool-error':
        return settle(part, { type: 'tool-output-error', errorText: errorText(part.error) });
      case 'tool-output-denied':
        // The AI SDK 5 has no denials: it shows the error, which later versions replace by the denial.
        if (live) settle(part, { type: 'tool-output-error', errorText: 'Denied' }, true);
        return settle(part, { type: part.type });
      case 'tool-approval-request':
        call(part.toolCall);
        return request(part);
      case 'tool-approval-response':
        return response(part);
      default: // converted elsewhere
    }
  };
}

/** The conversion of permissions and their answers. */
function approvalChunks(
  push: Show,
  show: Show,
  isOpen: (id: string) => boolean,
  live: boolean,
  progress: ReadonlyMap<string, Progress>,
) {
  const approvals = new Map<string, ApprovalData>();

  const update = (id: string, data: ApprovalData) => {
    approvals.set(id, data);
    if (live) push({ type: 'data-approval', id, data });
  };
  const request = ({ type, toolCall, approvalId, security_warning, ...rest }: Of<'tool-approval-request'>) => {
    const { toolCallId, toolName, input = {} } = toolCall;
    if (approvals.has(approvalId) || !isOpen(approvalId)) return;
    const { reason, isAutomatic, signature } = rest; // of an SDK's own host
    show({
      type,
      approvalId,
      toolCallId,
      ...(reason !== undefined && { reason }),
      ...(isAutomatic !== undefined && { isAutomatic }),
      ...(signature !== undefined && { signature }),
    });
    update(approvalId, { toolCallId, toolName, input, ...(security_warning && { security_warning }), state: 'open' });
  };
  const response = ({ type, approvalId, approved, reason }: Of<'tool-approval-response'>) => {
    const data = approvals.get(approvalId);
    // The SDK throws on an answer to a request that it did not see, and an answer after the result would undo the
    // result.
    if (!data || progress.get(data.toolCallId) === 3) return;
    push({ type, approvalId, approved, reason });
    update(approvalId, { ...data, state: 'resolved', approved, reason });
  };
  return { request, response };
}

/**
 * Remote tools are unknown to the page, hence dynamic. They are executed elsewhere: otherwise useChat would call
 * onToolCall, and its predicates would submit their results.
 */
function remote(toolCallId: string): { toolCallId: string; dynamic: true; providerExecuted: true } {
  return { toolCallId, dynamic: true, providerExecuted: true };
}
