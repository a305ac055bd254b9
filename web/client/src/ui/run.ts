import type { UIMessageChunk } from 'ai';
import type { StreamItem, Turn } from '../turn.js';
import type { Answer } from '../wire.js';
import type { UiChunk } from './chunk.js';
import { Converter } from './convert.js';

export interface RunOptions {
  approvals?: 'park' | 'live' | undefined;
  /** The page waits for an answer that was given elsewhere. */
  onAnswered?: ((interactionId: string) => void) | undefined;
}

/**
 * Reads one turn once, into whatever UI stream is attached. At a permission the UI stream ends while the reading goes on;
 * what comes meanwhile waits in the queue.
 */
export class Run {
  readonly #converter: Converter;
  readonly #reading = new AbortController();
  /** A permission's id is where the UI stream ends until the page has answered. */
  readonly #queue: (UiChunk | string)[] = [];
  readonly #answered = new Set<string>();
  #view: ReadableStreamDefaultController<UIMessageChunk> | undefined;
  #parkedOn: string | undefined;
  readonly #shown: Set<string>;
  #done = false;
  #failure: unknown;

  readonly #live: boolean;
  readonly #turn: Turn;
  readonly #options: () => RunOptions;

  /** `shown`: permissions that are in the page's message already, and so is all that was told up to the last of them. */
  constructor(turn: Turn, options: () => RunOptions, shown: Iterable<string> = []) {
    this.#turn = turn;
    this.#options = options;
    this.#shown = new Set(shown);
    this.#live = options().approvals === 'live';
    this.#converter = new Converter(() => turn.turnId || undefined, this.#live);
    void this.#read();
  }

  /** Whether everything was read and shown. */
  get over(): boolean {
    return this.#done && this.#queue.length === 0;
  }

  /** The UI stream of what was not shown yet. Its end by the page ends the reading; the agent goes on. */
  attach(signal: AbortSignal | undefined): ReadableStream<UIMessageChunk> {
    return new ReadableStream<UIMessageChunk>({
      start: (view) => {
        this.#close();
        this.#view = view;
        this.#parkedOn = undefined;
        const aborted = () => this.#view === view && this.detach(signal?.reason);
        signal?.addEventListener('abort', aborted);
        if (signal?.aborted) aborted();
        this.#flush();
      },
      cancel: () => this.#stop(),
    });
  }

  /** Leaves the turn to itself. */
  detach(reason?: unknown): void {
    const view = this.#view;
    this.#stop();
    view?.error(reason ?? this.#reading.signal.reason);
  }

  /** An answer given elsewhere stands, and the stream tells of it. */
  async answer(interactionId: string, answer: Answer): Promise<void> {
    this.#answered.add(interactionId);
    await this.#turn.client.answer(interactionId, answer).catch((error: unknown) => {
      this.#answered.delete(interactionId);
      throw error;
    });
  }

  async #read(): Promise<void> {
    let until: string | undefined;
    try {
      for await (const item of this.#turn.parts({ signal: this.#reading.signal })) {
        if (item.part.type === 'data-resume') until = item.part.data.to;
        this.#take(item);
        if (item.id === until) {
          this.#converter.replayed();
          this.#shown.clear();
        }
      }
    } catch (error) {
      this.#failure = error;
    }
    this.#done = true;
    this.#flush();
  }

  #take({ part }: StreamItem): void {
    const next: (UiChunk | string)[] = this.#converter.convert(part);
    const { type, approvalId = '', isAutomatic } = part as { type: string; approvalId?: string; isAutomatic?: boolean };
    const asked = !this.#answered.has(approvalId);
    const parks = type === 'tool-approval-request' && asked && !isAutomatic && !this.#live && this.#converter.isOpen(approvalId);
    const { size } = this.#shown;
    const known = this.#shown.delete(approvalId);
    // Where the page's message ends, its text and its step ended too.
    if (parks || known) next.push(...this.#converter.park(), approvalId);
    if (!size) this.#queue.push(...next);
    if (type === 'tool-approval-response' && asked && this.#parkedOn === approvalId) this.#options().onAnswered?.(approvalId);
    this.#flush();
  }

  #flush(): void {
    for (let next; this.#view && (next = this.#queue.shift()); ) {
      if (typeof next === 'string') {
        this.#parkedOn = next;
        this.#close();
      } else {
        // One set of chunks serves three versions of the SDK, whose unions differ; each ignores the types it does not know.
        this.#view.enqueue(next as unknown as UIMessageChunk);
      }
    }
    if (!this.#view || !this.over) return;
    if (this.#failure === undefined) return this.#close();
    this.#view.error(this.#failure);
    this.#view = undefined;
  }

  #close(): void {
    this.#view?.close();
    this.#view = undefined;
  }

  #stop(): void {
    this.#view = undefined;
    this.#queue.length = 0;
    this.#reading.abort();
  }
}
