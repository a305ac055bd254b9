import type { Answer, Attachment } from './contract.js';
import { BellhopError, isFinal, networkError, urlOf } from './error.js';
import { follow, type FollowOptions, type Source } from './follow.js';
import type { ClientOptions, RequestOptions } from './options.js';
import { errorText, isTerminal, type NativePart } from './part.js';
import type { SseEvent } from './sse.js';
import {
  basicSilenceMs,
  type AttachResponse,
  type CheckInRequest,
  type CheckInResponse,
  type FinishReason,
  type Interaction,
  type InterruptResponse,
  type Reach,
  type WhenBusy,
} from './wire.js';

export interface PromptOptions extends Pick<CheckInRequest, 'artifacts' | 'messageId' | 'bindPrompt'> {
  attachments?: Attachment[] | undefined;
  whenBusy?: WhenBusy | undefined;
  /** Takes the session over from a terminal client, which is closed first (error code `attached`). */
  force?: boolean | undefined;
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
  /** Of the host; a basic host has none. */
  capabilities?: string[];
}

/** How a turn of a basic host ended, as its stream shows it. */
export interface TurnEnd {
  finishReason: FinishReason;
  reason?: string | undefined;
}

interface Prompt {
  prompt: string;
  attachments?: Attachment[] | undefined;
  whenBusy?: WhenBusy | undefined;
  force?: boolean | undefined;
}

/** What a request goes to. A host names its answers if it lists the capability. */
export type Receiver = 'broker' | 'named-host' | 'host';

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
    to?: Receiver,
  ): Promise<Response>;
  checkIn(body: CheckInRequest): Promise<CheckInResponse>;
  attach(taskId: string): Promise<AttachResponse>;
  interrupt(taskId: string, turnId?: string): Promise<InterruptResponse>;
  finish(taskId: string, turnId: string, end: TurnEnd): Promise<void>;
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
  /** Aborted when the turn was stopped and its stream must be closed. */
  readonly #stopped = new AbortController();

  /** Pass `start` for a turn that this client prompts, `cursor` for one that it attaches to. */
  constructor(
    readonly client: TurnClient,
    readonly taskId: string,
    private grant: Grant,
    private readonly start?: { body: CheckInRequest; prompt: Prompt },
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
  async *parts(options: FollowOptions = {}): AsyncGenerator<StreamItem, void, undefined> {
    const all = { ...this.client.options, ...options };
    const { signal } = this.#stopped;
    try {
      yield* follow(this, { ...all, signal: all.signal ? AbortSignal.any([all.signal, signal]) : signal });
    } catch (error) {
      if (!signal.aborted || all.signal?.aborted) throw error;
      yield { part: { type: 'abort', reason: 'aborted' }, id: undefined };
    }
  }

  /** Stops the turn, and no later one; resolves when the agent has stopped. Before its first part it stops what is open. A basic host stops because its stream is closed. */
  async interrupt(): Promise<void> {
    const begun = this.cursor !== undefined;
    const { closeStream } = await this.client.interrupt(this.taskId, begun ? this.turnId : undefined);
    if (closeStream) this.#stopped.abort();
  }

  /** Whether the host knows only the basic flow: it takes its token in the query, cannot resume, and does not report
   * the end of a turn. */
  get basic(): boolean {
    return !this.grant.capabilities?.length;
  }

  /** A basic host sends no pings while its agent works. */
  idleMs(): number | undefined {
    return this.basic ? basicSilenceMs : undefined;
  }

  /** Whether a stream that ended without a terminal part is over: a basic host may just close it. */
  over(): boolean {
    if (!this.basic || this.#resumable === undefined) return false;
    this.#report({ finishReason: 'stop' });
    return true;
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

  get #receiver(): Receiver {
    if (this.#relays) return 'broker';
    return this.grant.capabilities?.includes('named-answers') ? 'named-host' : 'host';
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
    const { streamToken } = this.grant;
    if (this.basic) url.searchParams.set('token', streamToken);
    const response = await this.client.call(
      url,
      this.basic ? undefined : streamToken,
      'omit',
      starts ? 'POST' : 'GET',
      {
        body: starts ? this.start?.prompt : undefined,
        signal,
      },
      this.#receiver,
    );
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
    if (this.basic && isTerminal(part)) this.#report(endOf(part));
    return { part, id: event.id };
  }

  ends(item: StreamItem): boolean {
    return isTerminal(item.part);
  }

  async recover(failure: unknown): Promise<boolean> {
    const refused = failure instanceof BellhopError && !failure.foreign;
    if (refused && failure.status === 401 && !this.#refreshed) {
      this.#refreshed = true;
      await this.#refresh();
      return true;
    }
    if (isFinal(failure)) {
      // The turn never began, and a basic host does not report that.
      if (refused && this.basic && this.#resumable === undefined)
        this.#report({ finishReason: 'error', reason: failure.message });
      throw failure;
    }
    const { relayed, options } = this.client;
    if (refused || this.#reached || this.#relays || options.relay === 'never') return false;
    relayed.add(this.taskId);
    await this.#refresh();
    if (!this.#relays) relayed.delete(this.taskId);
    return this.#relays;
  }

  /** Reports the end of a basic host's turn. If that fails, the next check-in ends the turn. */
  #report(end: TurnEnd): void {
    if (this.start) this.client.finish(this.taskId, this.turnId, end).catch(() => undefined);
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

function endOf(part: Extract<NativePart, { type: 'finish' | 'abort' | 'error' }>): TurnEnd {
  if (part.type === 'abort') return { finishReason: 'other', reason: 'aborted' };
  if (part.type === 'error') return { finishReason: 'error', reason: errorText(part.error).slice(0, 500) };
  const known = /^(stop|length|content-filter|tool-calls|error|other)$/.exec(part.finishReason ?? '');
  return { finishReason: (known?.[0] ?? 'stop') as FinishReason };
}
