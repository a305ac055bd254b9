import { errorText, type NativePart, type NativeToolCall, type Resume } from '../part.js';
import { Blocks } from './blocks.js';
import type { ApprovalData, AskData, UiChunk } from './chunk.js';

type Of<T extends NativePart['type']> = Extract<NativePart, { type: T }>;

export interface ConvertOptions {
  /** Approvals as data parts too, for pages that have no others. */
  live?: boolean | undefined;
}

/** How far a tool call was shown. */
interface ToolState {
  begun?: boolean;
  called?: boolean;
  settled?: boolean;
}

/**
 * Native parts of one turn to UIMessageChunks. Tolerant: it adds the openers a host left out, because the AI SDK's reducer
 * throws on a delta or a result without one. A replay is merged by ids into what was shown: nothing is shown twice.
 */
export class Converter {
  #out: UiChunk[] = [];
  #started = false;
  #inStep = false;
  readonly #blocks = new Blocks((chunk) => this.#show(chunk));
  readonly #tools = new Map<string, ToolState>();
  readonly #asks = new Map<string, AskData>();
  readonly #approvals = new Map<string, NativeToolCall>();
  /** While a replay runs, the questions that are still open; others need no answer and are not shown. */
  #open: ReadonlySet<string> | undefined;

  constructor(
    private readonly messageId: () => string,
    private readonly options: ConvertOptions = {},
  ) {}

  /** Chunks that end a UI stream while the turn goes on, because the page has to answer. */
  park(): UiChunk[] {
    this.#out = [];
    this.#endStep();
    this.#out.push({ type: 'finish', finishReason: 'tool-calls' });
    return this.#out;
  }

  /** Ends a replay: what follows is new. */
  replayed(): void {
    this.#open = undefined;
  }

  /** Whether the page has to be asked. */
  isOpen(interactionId: string): boolean {
    return this.#open?.has(interactionId) ?? true;
  }

  convert(part: NativePart): UiChunk[] {
    this.#out = [];
    this.#take(part);
    if (!this.#started && this.#out.length > 0) {
      this.#started = true;
      this.#out.unshift({ type: 'start', messageId: this.messageId() });
    }
    return this.#out;
  }

  #take(part: NativePart): void {
    switch (part.type) {
      case 'start-step':
        this.#endStep();
        return this.#step();
      case 'finish-step':
        return this.#endStep();
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#blocks.take(part);
      case 'source':
      case 'file':
        return this.#show(attached(part));
      case 'finish':
      case 'abort':
      case 'error':
        return this.#end(part);
      case 'data-resume':
        return this.#resume(part.data);
      case 'data-ask':
      case 'data-answer':
        return this.#question(part);
      case 'data-notice':
      case 'data-queued':
        return void this.#out.push({ ...part, transient: true } as UiChunk);
      default:
        return this.#tool(part);
    }
  }

  #tool(part: NativePart): void {
    switch (part.type) {
      case 'tool-input-start': {
        const state = this.#state(part.id);
        if (!state.begun) this.#show({ type: part.type, ...remote(part.id), toolName: part.toolName, title: part.title });
        state.begun = true;
        return;
      }
      case 'tool-input-delta': {
        const { begun, called } = this.#state(part.id);
        if (begun && !called) this.#show({ type: part.type, toolCallId: part.id, inputTextDelta: part.delta });
        return;
      }
      case 'tool-call':
        return this.#call(part);
      case 'tool-result': {
        const { preliminary, output = null } = part;
        return this.#settle(part, { type: 'tool-output-available', output, preliminary }, !preliminary);
      }
      case 'tool-error':
        return this.#settle(part, { type: 'tool-output-error', errorText: errorText(part.error) });
      case 'tool-output-denied':
        // The AI SDK 5 does not know of denials: the error is what it shows, and what later versions replace.
        if (this.options.live) this.#settle(part, { type: 'tool-output-error', errorText: 'Denied' }, false);
        return this.#settle(part, { type: part.type });
      case 'tool-approval-request':
        return this.#request(part);
      case 'tool-approval-response':
        return this.#response(part);
    }
  }

  /** Shows a call once. An invalid one is settled by that: the error that follows says the same. */
  #call({ toolCallId, toolName = 'tool', input = {}, title, invalid, error }: Partial<NativeToolCall> & { toolCallId: string }): void {
    const state = this.#state(toolCallId);
    if (state.called) return;
    state.begun = state.called = true;
    const call = { ...remote(toolCallId), toolName, input, title };
    if (invalid) {
      state.settled = true;
      this.#show({ type: 'tool-input-error', ...call, errorText: errorText(error) });
    } else {
      this.#show({ type: 'tool-input-available', ...call });
    }
  }

  #settle(
    call: Partial<NativeToolCall> & { toolCallId: string },
    end:
      | { type: 'tool-output-available'; output: unknown; preliminary: boolean | undefined }
      | { type: 'tool-output-error'; errorText: string }
      | { type: 'tool-output-denied' },
    settled = true,
  ): void {
    const state = this.#state(call.toolCallId);
    if (state.settled) return;
    this.#call(call);
    state.settled = settled;
    this.#out.push({ ...remote(call.toolCallId), ...end });
  }

  #request({ toolCall, event: _, ...request }: Of<'tool-approval-request'>): void {
    const { approvalId } = request;
    this.#call(toolCall);
    if (this.#approvals.has(approvalId) || !this.isOpen(approvalId)) return;
    this.#approvals.set(approvalId, toolCall);
    this.#show({ ...request, toolCallId: toolCall.toolCallId });
    this.#approval(approvalId, toolCall, { state: 'open' });
  }

  #response({ type, approvalId, approved, reason }: Of<'tool-approval-response'>): void {
    const call = this.#approvals.get(approvalId);
    // The reducer throws on an answer to a request it has not seen; and after the result it would take the result back.
    if (!call || this.#state(call.toolCallId).settled) return;
    this.#out.push({ type, approvalId, approved, reason });
    this.#approval(approvalId, call, { state: 'resolved', approved, reason });
  }

  #approval(id: string, { toolCallId, toolName, input = {} }: NativeToolCall, rest: Pick<ApprovalData, 'state' | 'approved' | 'reason'>): void {
    if (this.options.live) this.#out.push({ type: 'data-approval', id, data: { toolCallId, toolName, input, ...rest } });
  }

  #question(part: Of<'data-ask'> | Of<'data-answer'>): void {
    const known = this.#asks.get(part.id);
    let data: AskData;
    if (part.type === 'data-ask') data = known ?? { ...part.data, state: 'open' };
    else if (known) data = { ...known, state: part.data.state, answer: part.data.answer?.text };
    else return;
    this.#asks.set(part.id, data);
    this.#show({ type: 'data-ask', id: part.id, data });
  }

  #resume(data: Resume): void {
    this.#open = data.from === '' ? undefined : new Set(data.openInteractions);
    if (data.verdict === 'gap') this.#blocks.rewind();
    this.#out.push({ type: 'data-resume', data, transient: true });
  }

  #end(part: Of<'finish' | 'abort' | 'error'>): void {
    this.#endStep();
    if (part.type === 'finish') {
      const { type, finishReason = 'other', totalUsage: usage, rawFinishReason: reason } = part;
      this.#out.push({ type, finishReason, messageMetadata: usage || reason ? { usage, reason } : undefined });
    } else if (part.type === 'abort') {
      this.#out.push({ type: part.type, reason: part.reason });
    } else {
      this.#out.push({ type: part.type, errorText: errorText(part.error) });
    }
  }

  #state(toolCallId: string): ToolState {
    const state = this.#tools.get(toolCallId) ?? {};
    this.#tools.set(toolCallId, state);
    return state;
  }

  #show(chunk: UiChunk): void {
    this.#step();
    this.#out.push(chunk);
  }

  #step(): void {
    if (!this.#inStep) this.#out.push({ type: 'start-step' });
    this.#inStep = true;
  }

  #endStep(): void {
    this.#blocks.close();
    if (this.#inStep) this.#out.push({ type: 'finish-step' });
    this.#inStep = false;
  }
}

/**
 * Remote tools are unknown to the page, hence dynamic. And they are executed elsewhere: otherwise useChat would call
 * onToolCall, and its predicates would submit their results.
 */
function remote(toolCallId: string): { toolCallId: string; dynamic: true; providerExecuted: true } {
  return { toolCallId, dynamic: true, providerExecuted: true };
}

function attached(part: Of<'source' | 'file'>): UiChunk {
  if (part.type === 'file') {
    // JSON of the SDK's GeneratedFile has base64Data: base64 is a getter.
    const { mediaType, base64, base64Data = '' } = part.file;
    return { type: 'file', mediaType, url: `data:${mediaType};base64,${base64 ?? base64Data}` };
  }
  const { id: sourceId, sourceType, event: _, ...source } = part;
  const title = source.title ?? (sourceType === 'url' ? undefined : (source.filename ?? sourceId));
  return { ...source, type: `source-${sourceType}`, sourceId, title } as UiChunk;
}
