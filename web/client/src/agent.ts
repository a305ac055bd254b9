import type { Answer } from './contract.js';
import { BellhopError, foreignError, isFinal, networkError, refusal, urlOf } from './error.js';
import { brokerHeader, isOfBroker, once, requestHeader, requestName } from './name.js';
import type { ClientOptions, RequestOptions } from './options.js';
import { Backoff, Watchdog } from './retry.js';
import { Turn, type PromptOptions, type Receiver, type TurnEnd } from './turn.js';
import type {
  AttachResponse,
  CheckInRequest,
  CheckInResponse,
  Interaction,
  InterruptResponse,
  RestartResponse,
  Task,
} from './wire.js';

/** Limit of the retries of a request that a user waits for. */
const maxRetries = 4;

/** The part of a client that a chat needs. `BellhopClient` has the other calls. */
export class AgentClient<O extends ClientOptions = ClientOptions> {
  /** Ids of tasks whose host this client reaches only through the broker. */
  readonly relayed = new Set<string>();
  /** Whether an answer of the broker has named it. */
  #named = false;

  constructor(public options: O = {} as O) {}

  get endpoint(): string {
    return (this.options.endpoint ?? '').replace(/\/+$/, '');
  }

  /** The broker's origin, for error messages. */
  get origin(): string {
    return urlOf(this.endpoint).origin;
  }

  /** Sends a request to the broker with the credentials. Returns the broker's response, whatever its status. */
  async send(method: string, path: string, { body, signal, headers }: RequestOptions = {}): Promise<Response> {
    const { token, credentials = token ? 'omit' : 'same-origin', headers: always } = this.options;
    const secret = typeof token === 'function' ? await token() : token;
    return this.call(this.endpoint + path, secret, credentials, method, {
      body,
      signal,
      headers: { ...always, ...headers },
    });
  }

  /**
   * Sends a request to the broker, to a host that names its answers, or to another one. Throws a BellhopError if
   * something else has answered (docs/protocol.md, "Whose answer it is").
   */
  async call(
    url: string | URL,
    token: string | undefined,
    credentials: RequestCredentials,
    method: string,
    { body, headers, signal }: RequestOptions,
    to: Receiver = 'broker',
  ): Promise<Response> {
    const { fetch = globalThis.fetch } = this.options;
    const name = this.#names(to, url) ? requestName() : undefined;
    const response = await fetch(url, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(token && { authorization: `Bearer ${token}` }),
        ...(name && { [requestHeader]: name }),
        ...headers,
      },
      credentials,
      body: JSON.stringify(body),
      signal,
    } as RequestInit);
    if (!this.#isForeign(response, to, name)) return response;
    throw foreignError(response, urlOf(String(url)).origin);
  }

  /** Whether a request gets a name. Of another origin, a broker that does not know names refuses the header. */
  #names(to: Receiver, url: string | URL): boolean {
    if (to !== 'broker') return to === 'named-host';
    const { location } = globalThis;
    return this.#isNamed || !location || urlOf(String(url)).origin === location.origin;
  }

  get #isNamed(): boolean {
    return this.#named || this.options.named === true;
  }

  #isForeign(response: Response, to: Receiver, name: string | undefined): boolean {
    if (to === 'named-host') return response.headers.get(requestHeader) !== name;
    if (to !== 'broker') return false;
    this.#named ||= response.headers.has(brokerHeader);
    return this.#isNamed && !isOfBroker(response, name);
  }

  /**
   * Calls any route of the broker. Throws a BellhopError if the broker rejects the request, and a "network error"
   * TypeError that names the origin if it cannot be reached.
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
   * Answers a permission or a question. Repeating the same answer is no error; a different one fails with code
   * `answered`. The stream may show a question before the broker knows it; the broker then waits for it.
   */
  answer(interactionId: string, answer: Answer): Promise<Interaction> {
    return this.#persist(() => this.#post(`interactions/${interactionId}`, answer));
  }

  checkIn(body: CheckInRequest, signal?: AbortSignal): Promise<CheckInResponse> {
    return this.#grant('agent', body, signal);
  }

  attach(taskId: string, signal?: AbortSignal): Promise<AttachResponse> {
    return this.#grant('agent/attach', { taskId }, signal);
  }

  /**
   * Stops a turn of the task, the open one without a `turnId`; resolves when the agent has stopped. `closeStream` means
   * that the host is basic: close the stream to stop its agent. `Turn.interrupt` does.
   */
  interrupt(taskId: string, turnId?: string): Promise<InterruptResponse> {
    return this.#post('agent/interrupt', { taskId, turnId: turnId || undefined });
  }

  /** Ends the task's agent program and its open turn. The next turn continues the conversation in a new program. */
  restart(taskId: string): Promise<RestartResponse> {
    return this.request('POST', '/api/agent/restart', once({ taskId }));
  }

  /** Reports how a turn of a basic host ended, which only the reader of its stream knows. */
  async finish(taskId: string, turnId: string, end: TurnEnd): Promise<void> {
    await this.#persist(() => this.#post('agent/finish', { taskId, turnId, ...end }));
  }

  /**
   * Checks a message in and returns its turn, which starts when its parts are read. Retries use the same message id, so
   * the message is checked in once.
   */
  async prompt(taskId: string, message: string, options: PromptOptions = {}): Promise<Turn> {
    const { signal, attachments, whenBusy, force, messageId = newId(), ...rest } = options;
    const body: CheckInRequest = { ...rest, taskId, message, messageId };
    const grant = await this.#persist(() => this.checkIn(body, signal), signal);
    return new Turn(this, taskId, grant, { body, prompt: { prompt: message, attachments, whenBusy, force } });
  }

  /**
   * Returns the task's open turn from its start, null when there is none. With a `turnId` it returns that turn, even if
   * it has ended, as long as it is the task's last.
   */
  async resume(
    taskId: string,
    options: { signal?: AbortSignal | undefined; turnId?: string | undefined } = {},
  ): Promise<Turn | null> {
    const { signal, turnId } = options;
    const [grant, { openTurn }] = await this.#persist(
      () => Promise.all([this.attach(taskId, signal), this.task(taskId, signal)]),
      signal,
    );
    // For a cursor that it does not know, the host replays the last turn.
    const cursor = grant.streamCursor ?? (turnId && '0-0');
    return cursor ? new Turn(this, taskId, { ...grant, turnId: turnId ?? openTurn ?? '' }, undefined, cursor) : null;
  }

  #post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    return this.request('POST', `/api/${path}`, { body, signal });
  }

  #grant<T>(path: string, body: { taskId: string }, signal?: AbortSignal): Promise<T> {
    const relay = this.options.relay === 'always' || this.relayed.has(body.taskId);
    return this.#post(path, { ...body, reach: relay ? 'relay' : undefined }, signal);
  }

  async #persist<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const retry = new Backoff(Math.min(maxRetries, this.options.maxRetries ?? maxRetries));
    for (;;) {
      try {
        return await call();
      } catch (error) {
        const { status = 0, code } = error as Partial<BellhopError>;
        // A 502 with a code is from the broker: the agent host failed, and the user should see that at once.
        const final = isFinal(error) || (status === 502 && code);
        if (signal?.aborted || final) throw error;
        await retry.wait(error, signal);
      }
    }
  }
}

/** A random id of 128 bits. Pages served without TLS have no crypto.randomUUID. */
export function newId(): string {
  return String(crypto.getRandomValues(new Uint32Array(4)));
}
