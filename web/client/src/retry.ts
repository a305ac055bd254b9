import { reconnectMaxDelayMs, reconnectMinDelayMs, streamIdleTimeoutMs, streamWakeTimeoutMs } from './wire.js';

/** Delays between attempts, doubled from one to the next. A random part keeps the clients of a restarted server from
 * reconnecting at the same moment. */
export class Backoff {
  /** Failures in a row. Reset it to zero after progress. */
  attempt = 0;

  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Waits before the next attempt; throws `last` after too many attempts. The wait ends early when the browser
   * comes online or the page becomes visible. */
  async wait(
    failure: unknown,
    signal?: AbortSignal,
    note?: (retryInMs: number) => void,
    last = failure,
  ): Promise<void> {
    if (this.attempt >= this.#limit) throw last;
    const { retryAfterMs = 0 } = failure as { retryAfterMs?: number };
    const ms = Math.max(
      retryAfterMs,
      Math.min(reconnectMaxDelayMs, reconnectMinDelayMs * 2 ** this.attempt++) * (0.5 + Math.random() / 2),
    );
    note?.(ms);
    const timer = new Watchdog(ms, signal, 0);
    if (!timer.signal.aborted) await new Promise((over) => timer.signal.addEventListener('abort', over));
    timer.stop();
    signal?.throwIfAborted();
  }
}

/** Calls back when a browser comes online or its page becomes visible. */
function onWake(wake: () => void, signal: AbortSignal): void {
  globalThis.addEventListener?.('visibilitychange', () => document.hidden || wake(), { signal });
  globalThis.addEventListener?.('online', wake, { signal });
}

/** Aborts its signal when an outer one is aborted, or after a time without `feed`. */
export class Watchdog {
  readonly signal: AbortSignal;
  readonly #abort = new AbortController();
  readonly #idleMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    idleMs = streamIdleTimeoutMs,
    outer?: AbortSignal,
    /** How long a connection has to deliver a byte after the page woke up. */
    afterWake = streamWakeTimeoutMs,
  ) {
    const { signal } = this.#abort;
    this.#idleMs = idleMs;
    onWake(() => this.feed(Math.min(idleMs, afterWake)), signal);
    this.signal = AbortSignal.any([outer ?? signal, signal]);
    this.feed();
  }

  feed(ms = this.#idleMs): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#abort.abort(new Error(`silent for ${ms / 1000} s`)), ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
  }
}
