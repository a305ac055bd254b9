import { BellhopError, networkError, originOf, refusal } from './error.js';
import { taskFeed, userFeed, type FeedOptions, type TaskFeedEvent, type UserFeedEvent } from './feed.js';
import { isFinal, type FollowOptions } from './follow.js';
import { Backoff, pause, Watchdog } from './retry.js';
import { Turn, type PromptOptions } from './turn.js';
import type {
  Answer, Attached, CheckedIn, CheckIn, Interaction, MessageList, NewTask, Reach, Task, TaskChange, TaskList,
} from './wire.js';

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
  body?: unknown;
  query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  signal?: AbortSignal | undefined;
}

/** Attempts of a check-in beyond the first: a person waits for it. */
const checkInRetries = 4;

/** A client of one broker, and of the agent hosts it names. */
export class BellhopClient {
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
  async send(method: string, path: string, init: RequestOptions & { headers?: Record<string, string> } = {}): Promise<Response> {
    const { token, credentials } = this.options;
    const secret = typeof token === 'function' ? await token() : token;
    const query = Object.entries(init.query ?? {}).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    );
    const request: RequestInit = {
      method,
      headers: {
        ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(secret ? { authorization: `Bearer ${secret}` } : {}),
        ...this.options.headers,
        ...init.headers,
      },
      credentials: credentials ?? (token ? 'omit' : 'same-origin'),
    };
    if (init.body !== undefined) request.body = JSON.stringify(init.body);
    if (init.signal) request.signal = init.signal;
    return this.fetch(`${this.endpoint}${path}${query.length > 0 ? '?' : ''}${query.join('&')}`, request);
  }

  /**
   * Any route of the broker. Throws a BellhopError for what it refuses, and a "network error" TypeError that names the origin
   * when it cannot be reached.
   */
  async request<T>(method: string, path: string, init: RequestOptions = {}): Promise<T> {
    const dog = new Watchdog(this.options.idleMs ?? 30_000, init.signal);
    try {
      const response = await this.send(method, path, { ...init, signal: dog.signal });
      if (!response.ok) throw await refusal(response, this.origin);
      return (response.status === 204 ? undefined : await response.json()) as T;
    } catch (error) {
      if (init.signal?.aborted || error instanceof BellhopError) throw error;
      throw networkError(this.origin, dog.signal.aborted ? dog.signal.reason : error);
    } finally {
      dog.stop();
    }
  }

  createTask(task: NewTask): Promise<Task> {
    return this.request('POST', '/api/tasks', { body: task });
  }

  tasks(query: { cursor?: string; limit?: number; q?: string; archived?: boolean } = {}): Promise<TaskList> {
    return this.request('GET', '/api/tasks', { query });
  }

  task(id: string, signal?: AbortSignal): Promise<Task> {
    return this.request('GET', `/api/tasks/${id}`, { signal });
  }

  updateTask(id: string, change: TaskChange): Promise<Task> {
    return this.request('PATCH', `/api/tasks/${id}`, { body: change });
  }

  deleteTask(id: string): Promise<void> {
    return this.request('DELETE', `/api/tasks/${id}`);
  }

  /** A page of a task's messages, ascending; `since` is a rev, `after` and `before` are seqs. */
  messages(
    taskId: string,
    query: { after?: number; before?: number; since?: number; limit?: number } = {},
    signal?: AbortSignal,
  ): Promise<MessageList> {
    return this.request('GET', `/api/tasks/${taskId}/messages`, { query, signal });
  }

  async interactions(state?: Interaction['state']): Promise<Interaction[]> {
    return (await this.request<{ interactions: Interaction[] }>('GET', '/api/interactions', { query: { state } })).interactions;
  }

  /** Answers through the broker. `Turn.answer` goes straight to the agent host, which is sooner. */
  answer(interactionId: string, answer: Answer): Promise<Interaction> {
    return this.request('POST', `/api/interactions/${interactionId}`, { body: answer });
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

  diff(taskId: string): Promise<{ success: true; noDiffs?: boolean; message?: unknown }> {
    return this.request('POST', '/api/agent/diff', { body: { taskId } });
  }

  /**
   * Checks a message in and returns its turn, which starts when its parts are read. The message has an id from the start,
   * so that however often the network fails it is checked in once.
   */
  async prompt(taskId: string, message: string, options: PromptOptions = {}): Promise<Turn> {
    const { signal, attachments, whenBusy, messageId = newId(), ...rest } = options;
    const body: CheckIn = { ...rest, taskId, message, messageId };
    const grant = await this.persist(() => this.checkIn(body, signal), signal);
    return new Turn(this, grant, { body, prompt: { prompt: message, attachments, whenBusy } });
  }

  /** The task's open turn from its start, null when there is none. */
  async resume(taskId: string, options: { signal?: AbortSignal | undefined } = {}): Promise<Turn | null> {
    const grant = await this.persist(() => this.attach(taskId, options.signal), options.signal);
    if (grant.streamCursor === null) return null;
    const { openTurn } = await this.persist(() => this.task(taskId, options.signal), options.signal);
    return new Turn(this, grant, { taskId, turnId: openTurn, cursor: grant.streamCursor });
  }

  /** Changes of a task since a rev, without end. After `reset` read task and messages anew. */
  taskFeed(taskId: string, options: FeedOptions & { since?: number | undefined } = {}): AsyncGenerator<TaskFeedEvent, void, undefined> {
    return taskFeed(this, taskId, options);
  }

  /** A hint per changed task or agent session of the user, without end; every connection begins with `hello`. */
  userFeed(options: FeedOptions = {}): AsyncGenerator<UserFeedEvent, void, undefined> {
    return userFeed(this, options);
  }

  private reachOf(taskId: string): Reach | undefined {
    const { relay } = this.options;
    return relay === 'always' || this.relayed.has(taskId) ? 'relay' : undefined;
  }

  private async persist<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const retry = new Backoff(Math.min(checkInRetries, this.options.maxRetries ?? checkInRetries));
    for (;;) {
      try {
        return await call();
      } catch (error) {
        // A 502 of the broker itself has a code: its agent host failed, and the user is to know now.
        const refused = error instanceof BellhopError ? error : undefined;
        if (signal?.aborted || isFinal(error) || (refused?.status === 502 && refused.code !== '')) throw error;
        const delay = retry.next(refused?.retryAfterMs);
        if (delay === undefined) throw error;
        await pause(delay, signal);
      }
    }
  }
}

/** A random id; crypto.randomUUID is missing on pages served without TLS. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
