import type { UIMessageChunk } from 'ai';
import type { StreamItem, Turn } from '../turn.js';
import type { Answer } from '../wire.js';
import type { UiChunk } from './chunk.js';
import { Converter } from './convert.js';

export interface RunOptions {
  live: boolean;
  /** The page waits for an answer that was given elsewhere. */
  onAnswered: (interactionId: string) => void;
}

/** In the queue: the UI stream ends here, until the page has answered. */
interface Parked {
  parked: string;
}

/**
 * Reads one turn once, into whatever UI stream is attached. At a permission the UI stream ends while the reading goes on;
 * what comes meanwhile waits in the queue.
 */
export class Run {
  readonly #converter: Converter;
  readonly #reading = new AbortController();
  readonly #queue: (UiChunk | Parked)[] = [];
  readonly #answered = new Set<string>();
  #view: ReadableStreamDefaultController<UIMessageChunk> | undefined;
  #parkedOn: string | undefined;
  #shown: boolean;
  #done = false;
  #failure: unknown;

  /** `shown`: the replay up to the first permission, or its end, is in the page's message already. */
  constructor(
    readonly turn: Turn,
    private readonly options: RunOptions,
    shown = false,
  ) {
    this.#shown = shown;
    this.#converter = new Converter(() => turn.turnId || `turn-${turn.cursor ?? ''}`, options);
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
        const aborted = () => {
          if (this.#view === view) this.detach(signal?.reason);
        };
        if (signal?.aborted) aborted();
        else signal?.addEventListener('abort', aborted, { once: true });
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

  /** Answers once, however often the page says so; an answer given elsewhere stands, and the stream tells of it. */
  async answer(interactionId: string, answer: Answer): Promise<void> {
    if (this.#answered.has(interactionId)) return;
    this.#answered.add(interactionId);
    await this.turn.client.answer(interactionId, answer).catch((error: unknown) => {
      this.#answered.delete(interactionId);
      throw error;
    });
  }

  async #read(): Promise<void> {
    let until: string | undefined;
    try {
      for await (const item of this.turn.parts({ signal: this.#reading.signal })) {
        if (item.part.type === 'data-resume') until = item.part.data.to;
        this.#take(item);
        if (until !== undefined && item.id === until) {
          this.#converter.replayed();
          this.#shown = false;
        }
      }
    } catch (error) {
      this.#failure = error;
    }
    this.#done = true;
    this.#flush();
  }

  #take({ part }: StreamItem): void {
    const next: (UiChunk | Parked)[] = this.#converter.convert(part);
    const parks =
      part.type === 'tool-approval-request' && !(part.isAutomatic || this.options.live || this.#answered.has(part.approvalId)) && this.#converter.isOpen(part.approvalId);
    if (parks) next.push(...this.#converter.park(), { parked: part.approvalId });
    if (!this.#shown) this.#queue.push(...next);
    else if (parks) this.#shown = false;
    if (part.type === 'tool-approval-response' && this.#parkedOn === part.approvalId && !this.#answered.has(part.approvalId)) {
      this.options.onAnswered(part.approvalId);
    }
    this.#flush();
  }

  #flush(): void {
    for (let next; this.#view && (next = this.#queue.shift()); ) {
      if ('parked' in next) {
        this.#parkedOn = next.parked;
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
