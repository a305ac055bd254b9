import { errorText, type NativePart, type NativeToolCall, type Resume } from '../part.js';
import type { AskData, UiChunk } from './chunk.js';
import { Blocks } from './blocks.js';

/** Without members that are undefined: exact types, and nothing for a strict reader to stumble over. */
type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };
export function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Defined<T>;
}

type Of<T extends NativePart['type']> = Extract<NativePart, { type: T }>;

export interface ConvertOptions {
  /** Approvals as data parts too, for pages that have no others. */
  live?: boolean | undefined;
}

/**
 * Native parts of one turn to UIMessageChunks. Tolerant: it adds the openers a host left out, because the AI SDK's reducer
 * throws on a delta or a result without one. A replay is merged by ids into what was shown: nothing is shown twice.
 */
export class Converter {
  #started = false;
  #inStep = false;
  readonly #blocks = new Blocks();
  readonly #inputs = new Set<string>();
  readonly #called = new Set<string>();
  readonly #invalid = new Set<string>();
  readonly #settled = new Set<string>();
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
    return [...this.#endStep(), { type: 'finish', finishReason: 'tool-calls' }];
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
    const chunks = this.#body(part);
    if (this.#started || chunks.length === 0) return chunks;
    this.#started = true;
    return [{ type: 'start', messageId: this.messageId() }, ...chunks];
  }

  #body(part: NativePart): UiChunk[] {
    switch (part.type) {
      case 'start-step':
        return [...this.#endStep(), ...this.#step()];
      case 'finish-step':
        return this.#endStep();
      case 'text-start':
      case 'reasoning-start':
        return this.#inStepped(this.#blocks.start(kindOf(part.type), part.id));
      case 'text-delta':
      case 'reasoning-delta':
        return this.#inStepped(this.#blocks.delta(kindOf(part.type), part.id, part.text));
      case 'text-end':
      case 'reasoning-end':
        return this.#blocks.end(kindOf(part.type), part.id);
      case 'source':
      case 'file':
        return this.#inStepped([attached(part)]);
      case 'finish':
      case 'abort':
      case 'error':
        return this.#end(part);
      default:
        return part.type.startsWith('data-') ? this.#data(part) : this.#tool(part);
    }
  }

  #tool(part: NativePart): UiChunk[] {
    switch (part.type) {
      case 'tool-input-start':
        if (this.#inputs.has(part.id) || this.#called.has(part.id)) return [];
        this.#inputs.add(part.id);
        return this.#inStepped([defined({ type: part.type, ...tool(part.id), toolName: part.toolName, title: part.title })]);
      case 'tool-input-delta':
        if (!this.#inputs.has(part.id) || this.#called.has(part.id)) return [];
        return [{ type: part.type, toolCallId: part.id, inputTextDelta: part.delta }];
      case 'tool-call':
        return part.invalid ? this.#invalidCall(part) : this.#call(part);
      case 'tool-result':
        return this.#settle(part, { type: 'tool-output-available', output: part.output ?? null, ...(part.preliminary && { preliminary: true }) });
      case 'tool-error':
        return this.#invalid.has(part.toolCallId) ? [] : this.#settle(part, { type: 'tool-output-error', errorText: errorText(part.error) });
      case 'tool-output-denied':
        return this.#denied(part);
      case 'tool-approval-request':
        return this.#request(part);
      case 'tool-approval-response':
        return this.#response(part);
      default:
        return [];
    }
  }

  #call(call: NativeToolCall): UiChunk[] {
    if (this.#called.has(call.toolCallId)) return [];
    this.#called.add(call.toolCallId);
    return this.#inStepped([
      defined({ type: 'tool-input-available', ...tool(call.toolCallId), toolName: call.toolName, input: call.input ?? {}, title: call.title }),
    ]);
  }

  #invalidCall(call: NativeToolCall): UiChunk[] {
    if (this.#called.has(call.toolCallId)) return [];
    this.#called.add(call.toolCallId);
    this.#invalid.add(call.toolCallId);
    const { toolCallId, toolName, input, title } = call;
    return this.#inStepped([
      defined({ type: 'tool-input-error', ...tool(toolCallId), toolName, input: input ?? {}, errorText: errorText(call.error), title }),
    ]);
  }

  #settle(
    call: NativeToolCall,
    end: { type: 'tool-output-available'; output: unknown; preliminary?: boolean } | { type: 'tool-output-error'; errorText: string },
  ): UiChunk[] {
    const opener = this.#call(call);
    if (this.#settled.has(call.toolCallId)) return opener;
    if (!('preliminary' in end)) this.#settled.add(call.toolCallId);
    return [...opener, { ...end, ...tool(call.toolCallId) }];
  }

  #denied(part: Of<'tool-output-denied'>): UiChunk[] {
    if (this.#settled.has(part.toolCallId)) return [];
    const opener = this.#call({ toolCallId: part.toolCallId, toolName: part.toolName ?? 'tool' });
    this.#settled.add(part.toolCallId);
    const chunks: UiChunk[] = [...opener];
    // The AI SDK 5 does not know of denials: the error is what it shows, and what later versions replace.
    if (this.options.live) chunks.push({ type: 'tool-output-error', ...tool(part.toolCallId), errorText: 'Denied' });
    return [...chunks, { type: 'tool-output-denied', toolCallId: part.toolCallId }];
  }

  #request(part: Of<'tool-approval-request'>): UiChunk[] {
    const { approvalId, toolCall: call, reason, isAutomatic, signature } = part;
    const chunks = this.#call(call);
    if (this.#approvals.has(approvalId) || !this.isOpen(approvalId)) return chunks;
    this.#approvals.set(approvalId, call);
    chunks.push(defined({ type: part.type, approvalId, toolCallId: call.toolCallId, reason, isAutomatic, signature }));
    if (this.options.live) chunks.push(approval(approvalId, call, { state: 'open' }));
    return chunks;
  }

  #response(part: Of<'tool-approval-response'>): UiChunk[] {
    const { approvalId, approved, reason } = part;
    const call = this.#approvals.get(approvalId);
    // The reducer throws on an answer to a request it has not seen; and after the result it would take the result back.
    if (!call || this.#settled.has(call.toolCallId)) return [];
    const chunks: UiChunk[] = [defined({ type: part.type, approvalId, approved, reason })];
    if (this.options.live) chunks.push(approval(approvalId, call, defined({ state: 'resolved' as const, approved, reason })));
    return chunks;
  }

  #data(part: NativePart): UiChunk[] {
    switch (part.type) {
      case 'data-resume':
        return this.#resume(part.data);
      case 'data-ask':
        if (this.#asks.has(part.id)) return [];
        this.#asks.set(part.id, { ...part.data, state: 'open' });
        return this.#inStepped([{ type: part.type, id: part.id, data: { ...part.data, state: 'open' } }]);
      case 'data-answer': {
        const ask = this.#asks.get(part.id);
        if (!ask) return [];
        const { state, answer } = part.data;
        return [{ type: 'data-ask', id: part.id, data: defined({ ...ask, state, answer: answer?.text }) }];
      }
      case 'data-notice':
        return [{ type: part.type, data: part.data, transient: true }];
      case 'data-queued':
        return [{ type: part.type, data: part.data ?? null, transient: true }];
      default:
        return [];
    }
  }

  #resume(data: Resume): UiChunk[] {
    this.#open = data.from === '' ? undefined : new Set(data.openInteractions);
    if (data.verdict === 'gap') this.#blocks.rewind();
    return [{ type: 'data-resume', data, transient: true }];
  }

  #end(part: Of<'finish' | 'abort' | 'error'>): UiChunk[] {
    const chunks = part.type === 'error' ? this.#blocks.close() : this.#endStep();
    switch (part.type) {
      case 'finish': {
        const metadata = defined({ usage: part.totalUsage, reason: part.rawFinishReason });
        const some = Object.keys(metadata).length > 0;
        return [...chunks, { type: part.type, finishReason: part.finishReason ?? 'other', ...(some && { messageMetadata: metadata }) }];
      }
      case 'abort':
        return [...chunks, defined({ type: part.type, reason: part.reason })];
      case 'error':
        return [...chunks, { type: part.type, errorText: errorText(part.error) }];
    }
  }

  #step(): UiChunk[] {
    if (this.#inStep) return [];
    this.#inStep = true;
    return [{ type: 'start-step' }];
  }

  #inStepped(chunks: UiChunk[]): UiChunk[] {
    return chunks.length > 0 ? [...this.#step(), ...chunks] : [];
  }

  #endStep(): UiChunk[] {
    const chunks = this.#blocks.close();
    if (this.#inStep) chunks.push({ type: 'finish-step' });
    this.#inStep = false;
    return chunks;
  }
}

function kindOf(type: `${'text' | 'reasoning'}-${string}`): 'text' | 'reasoning' {
  return type.startsWith('text') ? 'text' : 'reasoning';
}

/**
 * Remote tools are unknown to the page, hence dynamic. And they are executed elsewhere: otherwise useChat would call
 * onToolCall, and its predicates would submit their results.
 */
function tool(toolCallId: string): { toolCallId: string; dynamic: true; providerExecuted: true } {
  return { toolCallId, dynamic: true, providerExecuted: true };
}

function approval(
  id: string,
  call: NativeToolCall,
  rest: { state: 'open' | 'resolved'; approved?: boolean; reason?: string },
): UiChunk {
  return { type: 'data-approval', id, data: { toolCallId: call.toolCallId, toolName: call.toolName, input: call.input ?? {}, ...rest } };
}

function attached(part: Of<'source' | 'file'>): UiChunk {
  if ('file' in part) {
    // JSON of the SDK's GeneratedFile has base64Data: base64 is a getter.
    const { mediaType, base64, base64Data } = part.file;
    return { type: 'file', mediaType, url: `data:${mediaType};base64,${base64 ?? base64Data ?? ''}` };
  }
  const { id: sourceId, title, filename } = part;
  return part.sourceType === 'url'
    ? defined({ type: 'source-url', sourceId, url: part.url ?? '', title })
    : defined({ type: 'source-document', sourceId, mediaType: part.mediaType ?? '', title: title ?? filename ?? sourceId, filename });
}
