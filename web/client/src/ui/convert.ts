import { errorText, isTerminal, type NativePart, type NativeToolCall } from '../part.js';
import { textBlocks } from './blocks.js';
import type { ApprovalData, AskData, UiChunk } from './chunk.js';

type Of<T extends NativePart['type']> = Extract<NativePart, { type: T }>;

type Call = Partial<NativeToolCall> & { toolCallId: string };


/**
 * Native parts of one turn to UIMessageChunks. Tolerant: it adds the openers a host left out, because the AI SDK's reducer
 * throws on a delta or a result without one. A replay is merged by ids into what was shown: nothing is shown twice.
 */
export class Converter {
  /** Chunks of a part. */
  readonly convert: (part: NativePart) => UiChunk[];
  /** Chunks that end a UI stream while the turn goes on, because the page has to answer. */
  readonly park: () => UiChunk[];
  /** Ends a replay: what follows is new. */
  readonly replayed: () => void;
  /** Whether the page has to be asked. */
  readonly isOpen: (interactionId: string) => boolean;

  /** `live`: approvals as data parts too, for pages that have no others. */
  constructor(messageId: () => string | undefined, live = false) {
    let out: UiChunk[] = [];
    let started = false;
    let inStep = false;
    /** While a replay runs, the questions that are still open; others need no answer and are not shown. */
    let open: ReadonlySet<string> | undefined;
    /** How far a tool call was shown: 1 its input began, 2 it was called, 3 it is settled. */
    const [tools, asks, approvals] = [0, 1, 2].map(() => Object.create(null)) as [Record<string, number>, Record<string, AskData>, Record<string, NativeToolCall>];

    const push = (chunk: UiChunk) => void out.push(chunk);
    const step = () => {
      if (!inStep) push({ type: 'start-step' });
      inStep = true;
    };
    const show = (chunk: UiChunk) => {
      step();
      push(chunk);
    };
    const blocks = textBlocks(show);
    const endStep = () => {
      blocks.close();
      if (inStep) push({ type: 'finish-step' });
      inStep = false;
    };
    /** For now only: no part of the message. */
    const once = (part: Of<'data-notice' | 'data-queued' | 'data-context-restored' | 'data-resume'>) => push({ ...part, transient: true } as UiChunk);
    const isOpen = (id: string) => open?.has(id) ?? true;

    /** Whether a call gets further by this. */
    const reach = (id: string, state: number) => (tools[id] ?? 0) < state && (tools[id] = state);

    /** Shows a call once. An invalid one is settled by that: the error that follows says the same. */
    const call = ({ toolCallId, toolName = 'tool', input = {}, title, invalid, error }: Call) => {
      if (!reach(toolCallId, 2)) return;
      const shown = { ...remote(toolCallId), toolName, input, title };
      if (!invalid) return show({ type: 'tool-input-available', ...shown });
      reach(toolCallId, 3);
      show({ type: 'tool-input-error', ...shown, errorText: errorText(error) });
    };
    const settle = (
      part: Call,
      end:
        | { type: 'tool-output-available'; output: unknown; preliminary: boolean | undefined }
        | { type: 'tool-output-error'; errorText: string }
        | { type: 'tool-output-denied' },
      preliminary?: boolean,
    ) => {
      const { toolCallId } = part;
      call(part);
      if (tools[toolCallId] === 3) return;
      if (!preliminary) reach(toolCallId, 3);
      push({ ...remote(toolCallId), ...end });
    };
    const approval = (id: string, { toolCallId, toolName, input = {} }: NativeToolCall, rest: Pick<ApprovalData, 'state' | 'approved' | 'reason'>) => {
      if (live) push({ type: 'data-approval', id, data: { toolCallId, toolName, input, ...rest } });
    };
    const request = ({ toolCall, event: _, ...rest }: Of<'tool-approval-request'>) => {
      const { approvalId } = rest;
      call(toolCall);
      if (approvals[approvalId] || !isOpen(approvalId)) return;
      approvals[approvalId] = toolCall;
      show({ ...rest, toolCallId: toolCall.toolCallId });
      approval(approvalId, toolCall, { state: 'open' });
    };
    const response = ({ type, approvalId, approved, reason }: Of<'tool-approval-response'>) => {
      const asked = approvals[approvalId];
      // The reducer throws on an answer to a request it has not seen; and after the result it would take the result back.
      if (!asked || tools[asked.toolCallId] === 3) return;
      push({ type, approvalId, approved, reason });
      approval(approvalId, asked, { state: 'resolved', approved, reason });
    };
    const question = (part: Of<'data-ask'> | Of<'data-answer'>) => {
      const { id } = part;
      const known = asks[id];
      const data: AskData | undefined =
        part.type === 'data-ask' ? (known ?? { ...part.data, state: 'open' }) : known && { ...known, state: part.data.state, answer: part.data.answer?.text };
      if (data) show({ type: 'data-ask', id, data: (asks[id] = data) });
    };
    const end = (part: Of<'finish' | 'abort' | 'error'>) => {
      const { type } = part;
      endStep();
      if (type === 'finish') {
        const { finishReason = 'other', totalUsage: usage, rawFinishReason: reason } = part;
        push({ type, finishReason, messageMetadata: usage || reason ? { usage, reason } : undefined });
      } else {
        push(type === 'abort' ? { type, reason: part.reason } : { type, errorText: errorText(part.error) });
      }
    };

    const take = (part: NativePart): unknown => {
      if (blocks.take(part)) return;
      if (isTerminal(part)) return end(part);
      const { type } = part;
      switch (type) {
        case 'start-step':
          endStep();
          return step();
        case 'finish-step':
          return endStep();
        case 'source': {
          const { id: sourceId, sourceType, event: _, ...source } = part;
          const title = source.title ?? (sourceType === 'url' ? undefined : (source.filename ?? sourceId));
          return show({ ...source, type: `source-${sourceType}`, sourceId, title } as UiChunk);
        }
        case 'file': {
          // JSON of the SDK's GeneratedFile has base64Data: base64 is a getter.
          const { mediaType, base64Data, base64 = base64Data } = part.file;
          return show({ type, mediaType, url: `data:${mediaType};base64,${base64}` });
        }
        case 'data-resume':
          open = part.data.from ? new Set(part.data.openInteractions) : undefined;
          if (part.data.verdict === 'gap') blocks.rewind();
          return once(part);
        case 'data-notice':
        case 'data-queued':
        case 'data-context-restored':
          return once(part);
        case 'data-ask':
        case 'data-answer':
          return question(part);
        case 'tool-input-start':
          return reach(part.id, 1) && show({ type, ...remote(part.id), toolName: part.toolName, title: part.title });
        case 'tool-input-delta':
          return tools[part.id] === 1 && show({ type, toolCallId: part.id, inputTextDelta: part.delta });
        case 'tool-call':
          return call(part);
        case 'tool-result': {
          const { preliminary, output = null } = part;
          return settle(part, { type: 'tool-output-available', output, preliminary }, preliminary);
        }
        case 'tool-error':
          return settle(part, { type: 'tool-output-error', errorText: errorText(part.error) });
        case 'tool-output-denied':
          // The AI SDK 5 does not know of denials: the error is what it shows, and what later versions replace.
          if (live) settle(part, { type: 'tool-output-error', errorText: 'Denied' }, true);
          return settle(part, { type });
        case 'tool-approval-request':
          return request(part);
        case 'tool-approval-response':
          return response(part);
      }
    };

    this.isOpen = isOpen;
    this.replayed = () => void (open = undefined);
    this.park = () => {
      out = [];
      endStep();
      push({ type: 'finish', finishReason: 'tool-calls' });
      return out;
    };
    this.convert = (part) => {
      out = [];
      take(part);
      if (!started && out.length > 0) {
        started = true;
        out.unshift({ type: 'start', messageId: messageId() });
      }
      return out;
    };
  }
}

/**
 * Remote tools are unknown to the page, hence dynamic. And they are executed elsewhere: otherwise useChat would call
 * onToolCall, and its predicates would submit their results.
 */
function remote(toolCallId: string): { toolCallId: string; dynamic: true; providerExecuted: true } {
  return { toolCallId, dynamic: true, providerExecuted: true };
}
