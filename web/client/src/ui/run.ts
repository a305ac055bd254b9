import type { UIMessageChunk } from 'ai';
import type { StreamItem, Turn } from '../turn.js';
import type { Answer } from '../contract.js';
import type { UiChunk } from './chunk.js';
import { newConverter, type Converter } from './convert.js';

export interface RunOptions {
  approvals?: 'park' | 'live' | undefined;
  /** Called when a permission that the page waits for was answered elsewhere. */
  onAnswered?: ((interactionId: string) => void) | undefined;
}

/** Reads one turn once and writes it to the attached UI stream. At a permission the UI stream ends while reading
 * continues: the chunks wait in the queue. */
export class Run {
  readonly #converter: Converter;
  readonly #reading = new AbortController();
  /** Chunks to show. The id of a permission marks where the UI stream ends until the page has answered. */
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

  /** `shown`: permissions in the page's message. All chunks up to the last of them are in it too. */
  constructor(turn: Turn, options: () => RunOptions, shown: Iterable<string> = []) {
    this.#turn = turn;
    this.#options = options;
    this.#shown = new Set(shown);
    this.#live = options().approvals === 'live';
    this.#converter = newConverter(() => turn.turnId || undefined, this.#live);
    void this.#read();
  }

  /** Whether everything was read and shown. */
  get over(): boolean {
    return this.#done && this.#queue.length === 0;
  }

  /** Returns a UI stream of all chunks that were not shown yet. Cancelling it ends the reading; the agent continues. */
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

  /** Stops reading the turn; the agent continues. */
  detach(reason?: unknown): void {
    const view = this.#view;
    this.#stop();
    view?.error(reason ?? this.#reading.signal.reason);
  }

  /** Stops the turn. */
  interrupt(): Promise<void> {
    return this.#turn.interrupt();
  }

  /** Sends an answer to the broker. */
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
    const parks =
      type === 'tool-approval-request' && asked && !isAutomatic && !this.#live && this.#converter.isOpen(approvalId);
    const alreadyShown = this.#shown.size > 0; // the page's message goes on to the last of these permissions
    const known = this.#shown.delete(approvalId);
    // The page's message ends here, so its text and its step end too.
    if (parks || known) next.push(...this.#converter.park(), approvalId);
    if (!alreadyShown) this.#queue.push(...next);
    if (type === 'tool-approval-response' && asked && this.#parkedOn === approvalId)
      this.#options().onAnswered?.(approvalId);
    this.#flush();
  }

  #flush(): void {
    while (this.#view && this.#queue[0]) {
      const next = this.#queue.shift();
      if (typeof next === 'string') {
        this.#parkedOn = next;
        this.#close();
      } else {
        // The same chunks serve three versions of the SDK, whose unions differ; each version ignores unknown types.
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
