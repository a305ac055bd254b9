import type { AgentClient } from './agent.js';
import { BellhopError, isFinal, networkError, urlOf } from './error.js';
import { follow, type FollowOptions, type Source } from './follow.js';
import { isTerminal, type NativePart } from './part.js';
import type { SseEvent } from './sse.js';
import type { Attachment, CheckIn, Reach, WhenBusy } from './wire.js';

export interface PromptOptions extends Pick<CheckIn, 'artifacts' | 'messageId' | 'bindPrompt'> {
  attachments?: Attachment[] | undefined;
  whenBusy?: WhenBusy | undefined;
  signal?: AbortSignal | undefined;
}

/** What opens a stream: the answer to a check-in or an attach. */
export interface Grant {
  sessionId: string;
  streamToken: string;
  streamUrl: string;
  turnId?: string;
  messageId?: string;
  reach?: Reach;
}

interface Prompt {
  prompt: string;
  attachments?: Attachment[] | undefined;
  whenBusy?: WhenBusy | undefined;
}

/** A part of a turn; `id` is its stream id, if it has one. */
export interface StreamItem {
  part: NativePart;
  id: string | undefined;
}

/** One turn of an agent: its parts, through any number of connections. */
export class Turn implements Source<StreamItem> {
  /** Whether the host said that it can tell again what came; undefined before anything came. */
  #resumable: boolean | undefined;
  /** Whether the token is fresh, and whether the host ever answered from here. */
  #refreshed = false;
  #reached = false;

  /** `start` is of a turn that this client prompts, `cursor` of one that it attaches to. */
  constructor(
    readonly client: AgentClient,
    readonly taskId: string,
    private grant: Grant,
    private readonly start?: { body: CheckIn; prompt: Prompt },
    /** Stream id of the newest part received. */
    public cursor?: string,
  ) {}

  /** "" until known: a turn attached to is known by its first completed part. */
  get turnId(): string {
    return this.grant.turnId ?? '';
  }

  /** Id of the user's message; undefined for a turn attached to. */
  get messageId(): string | undefined {
    return this.grant.messageId;
  }

  /**
   * The turn's parts, once each, to its end. A `data-resume` part with verdict `gap` takes everything back: drop the turn's
   * parts, the replay follows. Aborting detaches; it does not stop the agent.
   */
  parts(options: FollowOptions = {}): AsyncGenerator<StreamItem, void, undefined> {
    return follow(this, { ...this.client.options, ...options });
  }

  /** Stops the turn; resolves when the agent has stopped. */
  interrupt(): Promise<void> {
    return this.client.interrupt(this.taskId);
  }

  origin(): string {
    return this.#url.origin;
  }

  /** A relay is wherever this client has its broker, which need not be the broker's own idea of its URL. */
  get #url(): URL {
    const { streamUrl, sessionId } = this.grant;
    return urlOf(this.#relays ? `${this.client.endpoint}/api/agent/stream/${sessionId}` : streamUrl);
  }

  get #relays(): boolean {
    return this.reach() === 'relay';
  }

  reach(): Reach {
    return this.grant.reach ?? 'direct';
  }

  async connect(signal: AbortSignal): Promise<Response> {
    const url = this.#url;
    const { cursor } = this;
    const starts = cursor === undefined;
    if (!starts) url.searchParams.set('after', cursor);
    else if (this.#resumable === false) throw networkError(url.origin, 'cannot resume', false);
    const response = await this.client.call(url, this.grant.streamToken, 'omit', starts ? 'POST' : 'GET', {
      body: starts ? this.start?.prompt : undefined,
      signal,
    });
    if (!this.#relays) this.#reached = true;
    return response;
  }

  read(event: SseEvent): StreamItem | undefined {
    // Some servers end with [DONE], which is no part.
    if (event.event !== 'message' || event.data[0] !== '{') return undefined;
    const part = JSON.parse(event.data) as NativePart;
    const turnId = part.event?.turnId ?? this.turnId;
    if (this.turnId && turnId !== this.turnId) throw networkError(this.origin(), 'lost this turn', false);
    this.grant.turnId = turnId;
    this.#refreshed = false;
    this.#resumable ||= /^data-(resume|queued)$/.test(part.type);
    this.cursor = event.id ?? this.cursor;
    return { part, id: event.id };
  }

  ends(item: StreamItem): boolean {
    return isTerminal(item.part);
  }

  async mend(failure: unknown): Promise<boolean> {
    const refused = failure instanceof BellhopError;
    if (refused && failure.status === 401 && !this.#refreshed) {
      this.#refreshed = true;
      await this.#refresh();
      return true;
    }
    if (isFinal(failure)) throw failure;
    const { relayed, options } = this.client;
    if (refused || this.#reached || this.#relays || options.relay === 'never') return false;
    relayed.add(this.taskId);
    await this.#refresh();
    if (!this.#relays) relayed.delete(this.taskId);
    return this.#relays;
  }

  /** A fresh token: for the same turn as long as nothing of it came, since only a check-in's token can start it. */
  async #refresh(): Promise<void> {
    const start = this.cursor === undefined && this.start;
    this.grant = { ...this.grant, reach: 'direct', ...(await (start ? this.client.checkIn(start.body) : this.client.attach(this.taskId))) };
  }
}
