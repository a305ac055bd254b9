import { BellhopError, networkError, originOf, refusal } from './error.js';
import { isFinal, type FollowOptions } from './follow.js';
import { Backoff, pause } from './retry.js';
import { Turn, type PromptOptions } from './turn.js';
import type { Answer, Attached, CheckedIn, CheckIn, Interaction, Reach, Task } from './wire.js';

export interface ClientOptions extends Pick<FollowOptions, 'idleMs' | 'maxRetries' | 'onConnection'> {
  /** The broker's URL; "" (default) is the page's own origin. */
  endpoint?: string | undefined;
  /** An API token, or what gives a fresh one. Without it the browser's cookie signs in. */
  token?: string | (() => string | Promise<string>) | undefined;
  /** Of requests to the broker. Default `same-origin`, or `omit` with a token. */
  credentials?: RequestCredentials | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  fetch?: typeof fetch | undefined;
  /** `auto` (default): through the broker when the agent host cannot be reached from here. */
  relay?: 'auto' | 'always' | 'never' | undefined;
}

export interface RequestOptions {
  /** Sent as JSON. */
  body?: unknown;
  headers?: Readonly<Record<string, string>> | undefined;
  signal?: AbortSignal | undefined;
}

/** Attempts beyond the first of what a person waits for. */
const patience = 4;

/** What a chat needs of a broker and the agent hosts it names: turns. `BellhopClient` has the rest. */
export class AgentClient {
  /** Tasks whose host only the broker reached. */
  readonly relayed = new Set<string>();

  constructor(public options: ClientOptions = {}) {}

  get endpoint(): string {
    return (this.options.endpoint ?? '').replace(/\/+$/, '');
  }

  get fetch(): typeof fetch {
    return this.options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** Where requests go, for errors. */
  get origin(): string {
    return originOf(this.endpoint || '/');
  }

  /** A request to the broker, signed in; whatever it answers. */
  async send(method: string, path: string, { body, signal, headers }: RequestOptions = {}): Promise<Response> {
    const { token, credentials, headers: always } = this.options;
    const secret = typeof token === 'function' ? await token() : token;
    return this.fetch(this.endpoint + path, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(secret && { authorization: `Bearer ${secret}` }),
        ...always,
        ...headers,
      },
      credentials: credentials ?? (token ? 'omit' : 'same-origin'),
      body: JSON.stringify(body) ?? null,
      signal: signal ?? null,
    });
  }

  /**
   * Any route of the broker. Throws a BellhopError for what it refuses, and a "network error" TypeError that names the origin
   * when it cannot be reached.
   */
  async request<T>(method: string, path: string, init: RequestOptions = {}): Promise<T> {
    const signals = [AbortSignal.timeout(this.options.idleMs ?? 30_000), ...(init.signal ? [init.signal] : [])];
    try {
      const response = await this.send(method, path, { ...init, signal: AbortSignal.any(signals) });
      if (!response.ok) throw await refusal(response, this.origin);
      return (response.status === 204 ? undefined : await response.json()) as T;
    } catch (error) {
      if (init.signal?.aborted || error instanceof BellhopError) throw error;
      throw networkError(this.origin, error);
    }
  }

  task(id: string, signal?: AbortSignal): Promise<Task> {
    return this.request('GET', `/api/tasks/${id}`, { signal });
  }

  /**
   * Answers a permission or a question. The same answer twice is no error; another one is refused with code `answered`. A
   * question is on the stream a little before the broker has heard of it, so "not found" is asked again for a while.
   */
  answer(interactionId: string, answer: Answer): Promise<Interaction> {
    return this.#persist(
      () => this.request('POST', `/api/interactions/${interactionId}`, { body: answer }),
      undefined,
      (status) => status === 404,
    );
  }

  checkIn(body: CheckIn, signal?: AbortSignal): Promise<CheckedIn> {
    return this.request('POST', '/api/agent', { body: { ...body, reach: this.reachOf(body.taskId) }, signal });
  }

  attach(taskId: string, signal?: AbortSignal): Promise<Attached> {
    return this.request('POST', '/api/agent/attach', { body: { taskId, reach: this.reachOf(taskId) }, signal });
  }

  /** Stops the task's turn; resolves when the agent has stopped. */
  async interrupt(taskId: string): Promise<void> {
    await this.request('POST', '/api/agent/interrupt', { body: { taskId } });
  }

  /**
   * Checks a message in and returns its turn, which starts when its parts are read. The message has an id from the start,
   * so that however often the network fails it is checked in once.
   */
  async prompt(taskId: string, message: string, options: PromptOptions = {}): Promise<Turn> {
    const { signal, attachments, whenBusy, messageId = newId(), ...rest } = options;
    const body: CheckIn = { ...rest, taskId, message, messageId };
    const grant = await this.#persist(() => this.checkIn(body, signal), signal);
    return new Turn(this, taskId, grant, { body, prompt: { prompt: message, attachments, whenBusy } });
  }

  /** The task's open turn from its start, null when there is none. */
  async resume(taskId: string, options: { signal?: AbortSignal | undefined } = {}): Promise<Turn | null> {
    const { signal } = options;
    const [grant, { openTurn }] = await this.#persist(() => Promise.all([this.attach(taskId, signal), this.task(taskId, signal)]), signal);
    if (grant.streamCursor === null) return null;
    return new Turn(this, taskId, { ...grant, turnId: openTurn }, undefined, grant.streamCursor);
  }

  private reachOf(taskId: string): Reach | undefined {
    const { relay } = this.options;
    return relay === 'always' || this.relayed.has(taskId) ? 'relay' : undefined;
  }

  async #persist<T>(call: () => Promise<T>, signal?: AbortSignal, early?: (status: number) => boolean): Promise<T> {
    const retry = new Backoff(Math.min(patience, this.options.maxRetries ?? patience));
    for (;;) {
      try {
        return await call();
      } catch (error) {
        const { status = 0, code = '', retryAfterMs } = error instanceof BellhopError ? error : {};
        // A 502 with a code is the broker's own: the agent host failed, and the user is to know now.
        const final = isFinal(error) ? !early?.(status) : status === 502 && code !== '';
        const delay = signal?.aborted || final ? undefined : retry.next(retryAfterMs);
        if (delay === undefined) throw error;
        await pause(delay, signal);
      }
    }
  }
}

/** An id unlikely enough to be unique within a task; crypto.randomUUID is missing on pages served without TLS. */
export function newId(): string {
  return [0, 0].map(() => Math.random().toString(36).slice(2)).join('');
}
