import type { AgentClient } from './agent.js';
import { BellhopError, originOf } from './error.js';
import { follow, isFinal, Lost, type FollowOptions, type Source } from './follow.js';
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
  #turnId: string;
  /** Whether anything came, and whether the host said that it can tell it again. */
  #received = false;
  #resumable = false;
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
  ) {
    this.#turnId = grant.turnId ?? '';
  }

  /** "" until known: a turn attached to is known by its first completed part. */
  get turnId(): string {
    return this.#turnId;
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
    return originOf(this.#url);
  }

  /** A relay is wherever this client has its broker, which need not be the broker's own idea of its URL. */
  get #url(): string {
    const { streamUrl, sessionId } = this.grant;
    return this.reach() === 'relay' ? `${this.client.endpoint}/api/agent/stream/${sessionId}` : streamUrl;
  }

  reach(): Reach {
    return this.grant.reach ?? 'direct';
  }

  async connect(signal: AbortSignal): Promise<Response> {
    const url = new URL(this.#url, globalThis.location?.href);
    const headers: Record<string, string> = { authorization: `Bearer ${this.grant.streamToken}` };
    const init: RequestInit = { headers, credentials: 'omit', signal };
    if (this.cursor !== undefined) {
      url.searchParams.set('after', this.cursor);
    } else {
      if (this.#received && !this.#resumable) throw new Lost(`network error: ${url.origin}: cannot resume`);
      headers['content-type'] = 'application/json';
      Object.assign(init, { method: 'POST', body: JSON.stringify(this.start?.prompt) });
    }
    const response = await this.client.fetch(url, init);
    if (this.reach() === 'direct') this.#reached = true;
    return response;
  }

  read(event: SseEvent): StreamItem | undefined {
    // Some servers end with [DONE], which is no part.
    if (event.event !== 'message' || !event.data.startsWith('{')) return undefined;
    const part = JSON.parse(event.data) as NativePart;
    const turn = part.event?.turnId ?? this.#turnId;
    if (this.#turnId && turn !== this.#turnId) throw new Lost(`network error: ${this.origin()}: lost this turn`);
    this.#turnId = turn;
    this.#received = true;
    this.#refreshed = false;
    if (part.type === 'data-resume') this.#resumable = true;
    this.cursor = event.id ?? this.cursor;
    return { part, id: event.id };
  }

  ends(item: StreamItem): boolean {
    return isTerminal(item.part);
  }

  async mend(failure: unknown): Promise<boolean> {
    if (failure instanceof BellhopError && failure.status === 401 && !this.#refreshed) {
      this.#refreshed = true;
      await this.#refresh();
      return true;
    }
    if (isFinal(failure)) throw failure;
    if (failure instanceof BellhopError || this.#reached || this.reach() === 'relay' || this.client.options.relay === 'never') return false;
    this.client.relayed.add(this.taskId);
    await this.#refresh();
    if (this.reach() === 'relay') return true;
    this.client.relayed.delete(this.taskId);
    return false;
  }

  /** A fresh token: for the same turn as long as nothing of it came, since only a check-in's token can start it. */
  async #refresh(): Promise<void> {
    const start = this.cursor === undefined && this.start;
    this.grant = { ...this.grant, reach: 'direct', ...(start ? await this.client.checkIn(start.body) : await this.client.attach(this.taskId)) };
    if (start) this.#turnId = this.grant.turnId ?? '';
  }
}
