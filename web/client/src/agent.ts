import { BellhopError, isFinal, networkError, refusal, urlOf } from './error.js';
import type { FollowOptions } from './follow.js';
import { Backoff, Watchdog } from './retry.js';
import { Turn, type PromptOptions } from './turn.js';
import type { Answer, Attached, CheckedIn, CheckIn, Interaction, Task } from './wire.js';

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
export class AgentClient<O extends ClientOptions = ClientOptions> {
  /** Tasks whose host only the broker reached. */
  readonly relayed = new Set<string>();

  constructor(public options: O = {} as O) {}

  get endpoint(): string {
    return (this.options.endpoint ?? '').replace(/\/+$/, '');
  }

  /** Where requests go, for errors. */
  get origin(): string {
    return urlOf(this.endpoint).origin;
  }

  /** A request to the broker, signed in; whatever it answers. */
  async send(method: string, path: string, { body, signal, headers }: RequestOptions = {}): Promise<Response> {
    const { token, credentials = token ? 'omit' : 'same-origin', headers: always } = this.options;
    const secret = typeof token === 'function' ? await token() : token;
    return this.call(this.endpoint + path, secret, credentials, method, { body, signal, headers: { ...always, ...headers } });
  }

  /** A request to any server. */
  call(url: string | URL, token: string | undefined, credentials: RequestCredentials, method: string, { body, headers, signal }: RequestOptions): Promise<Response> {
    const { fetch = globalThis.fetch } = this.options;
    return fetch(url, {
      method,
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }), ...headers },
      credentials,
      body: JSON.stringify(body) ?? null,
      signal: signal ?? null,
    });
  }

  /**
   * Any route of the broker. Throws a BellhopError for what it refuses, and a "network error" TypeError that names the origin
   * when it cannot be reached.
   */
  async request<T>(method: string, path: string, init: RequestOptions = {}): Promise<T> {
    const dog = new Watchdog(this.options.idleMs, init.signal);
    try {
      const response = await this.send(method, path, { ...init, signal: dog.signal });
      if (!response.ok) throw await refusal(response, this.origin);
      return (response.status === 204 ? undefined : await response.json()) as T;
    } catch (error) {
      if (init.signal?.aborted || error instanceof BellhopError) throw error;
      throw networkError(this.origin, error);
    } finally {
      dog.stop();
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
      () => this.#post(`interactions/${interactionId}`, answer),
      undefined,
      404,
    );
  }

  checkIn(body: CheckIn, signal?: AbortSignal): Promise<CheckedIn> {
    return this.#grant('agent', body, signal);
  }

  attach(taskId: string, signal?: AbortSignal): Promise<Attached> {
    return this.#grant('agent/attach', { taskId }, signal);
  }

  /** Stops the task's turn; resolves when the agent has stopped. */
  async interrupt(taskId: string): Promise<void> {
    await this.#post('agent/interrupt', { taskId });
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

  /**
   * The task's open turn from its start, null when there is none. With a `turnId`, that turn: also when it is over, as long
   * as it is the task's last.
   */
  async resume(taskId: string, options: { signal?: AbortSignal | undefined; turnId?: string | undefined } = {}): Promise<Turn | null> {
    const { signal, turnId } = options;
    const [grant, { openTurn }] = await this.#persist(() => Promise.all([this.attach(taskId, signal), this.task(taskId, signal)]), signal);
    // A cursor that the host does not know makes it tell the last turn.
    const cursor = grant.streamCursor ?? (turnId && '0-0');
    return cursor ? new Turn(this, taskId, { ...grant, turnId: turnId ?? openTurn }, undefined, cursor) : null;
  }

  #post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    return this.request('POST', `/api/${path}`, { body, signal });
  }

  #grant<T>(path: string, body: { taskId: string }, signal?: AbortSignal): Promise<T> {
    const relay = this.options.relay === 'always' || this.relayed.has(body.taskId);
    return this.#post(path, { ...body, reach: relay ? 'relay' : undefined }, signal);
  }

  async #persist<T>(call: () => Promise<T>, signal?: AbortSignal, early?: number): Promise<T> {
    const retry = new Backoff(Math.min(patience, this.options.maxRetries ?? patience));
    for (;;) {
      try {
        return await call();
      } catch (error) {
        const { status = 0, code } = error as Partial<BellhopError>;
        // A 502 with a code is the broker's own: the agent host failed, and the user is to know now.
        const final = isFinal(error) ? status !== early : status === 502 && code;
        if (signal?.aborted || final) throw error;
        await retry.wait(error, signal);
      }
    }
  }
}

/** An id likely enough to be unique within a task; crypto.randomUUID is missing on pages served without TLS. */
export function newId(): string {
  return String(Math.random());
}
