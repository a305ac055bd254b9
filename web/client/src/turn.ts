import type { Answer, Attachment, Attached, CheckedIn, CheckIn } from './contract.js';
import { BellhopError, isFinal, networkError, urlOf } from './error.js';
import { follow, type FollowOptions, type Source } from './follow.js';
import type { ClientOptions, RequestOptions } from './options.js';
import { isTerminal, type NativePart } from './part.js';
import type { SseEvent } from './sse.js';
import type { Interaction, Reach, WhenBusy } from './wire.js';

export interface PromptOptions extends Pick<CheckIn, 'artifacts' | 'messageId' | 'bindPrompt'> {
  attachments?: Attachment[] | undefined;
  whenBusy?: WhenBusy | undefined;
  signal?: AbortSignal | undefined;
}

/** Opens a stream: the response to a check-in or an attach. */
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

/** The calls and settings of a client that a turn needs; `AgentClient` implements it. */
export interface TurnClient {
  readonly options: ClientOptions;
  /** The broker's URL, without a slash at its end. */
  readonly endpoint: string;
  /** Ids of tasks whose host this client reaches only through the broker. */
  readonly relayed: Set<string>;
  call(
    url: URL,
    token: string | undefined,
    credentials: RequestCredentials,
    method: string,
    options: RequestOptions,
  ): Promise<Response>;
  checkIn(body: CheckIn): Promise<CheckedIn>;
  attach(taskId: string): Promise<Attached>;
  interrupt(taskId: string): Promise<void>;
  answer(interactionId: string, answer: Answer): Promise<Interaction>;
}

/** A part of a turn; `id` is its stream id, if it has one. */
export interface StreamItem {
  part: NativePart;
  id: string | undefined;
}

/** One turn of an agent: its parts, through any number of connections. */
export class Turn implements Source<StreamItem> {
  /** Whether the host can replay frames; undefined before the first frame. */
  #resumable: boolean | undefined;
  /** Whether the token was renewed since the last frame, and whether the host has ever responded to this client
   * directly. */
  #refreshed = false;
  #reached = false;

  /** Pass `start` for a turn that this client prompts, `cursor` for one that it attaches to. */
  constructor(
    readonly client: TurnClient,
    readonly taskId: string,
    private grant: Grant,
    private readonly start?: { body: CheckIn; prompt: Prompt },
    /** Stream id of the newest part received. */
    public cursor?: string,
  ) {}

  /** "" until known: the first completed part has the id of a turn that this client attached to. */
  get turnId(): string {
    return this.grant.turnId ?? '';
  }

  /** Id of the user's message; undefined for a turn that this client attached to. */
  get messageId(): string | undefined {
    return this.grant.messageId;
  }

  /**
   * Yields the turn's parts, once each, to its end. After a `data-resume` part with verdict `gap`, drop the turn's
   * parts: the replay follows. Aborting detaches; it does not stop the agent.
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

  /** The relay is at this client's endpoint, which may differ from the broker's public URL. */
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
    // Some servers end with [DONE], which is not a part.
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

  async recover(failure: unknown): Promise<boolean> {
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

  /** Gets another token. Before the turn has started only a check-in returns a token that can start it; afterwards
   * attaching is enough. */
  async #refresh(): Promise<void> {
    const start = this.cursor === undefined && this.start;
    this.grant = {
      ...this.grant,
      reach: 'direct',
      ...(await (start ? this.client.checkIn(start.body) : this.client.attach(this.taskId))),
    };
  }
}
