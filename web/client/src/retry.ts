const first = 500;
const longest = 30_000;

/** Delays between attempts: doubled from 0.5 s to 30 s, with jitter so that clients of a restarted server do not come at once. */
export class Backoff {
  /** Zero when something was received: the next failure is a first one again. */
  attempt = 0;

  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Waits before the next attempt; throws `last` when it is time to give up. The network's return or the page's, whichever
   * comes first, ends it early.
   */
  async wait(failure: unknown, signal?: AbortSignal, note?: (retryInMs: number) => void, last = failure): Promise<void> {
    if (this.attempt >= this.#limit) throw last;
    const { retryAfterMs = 0 } = failure as { retryAfterMs?: number };
    const ms = Math.max(retryAfterMs, Math.min(longest, first * 2 ** this.attempt++) * (0.5 + Math.random() / 2));
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

/** Aborts its signal when an outer one does, or after a time without `feed`. */
export class Watchdog {
  readonly #abort = new AbortController();
  readonly signal: AbortSignal = this.#abort.signal;
  #timer: ReturnType<typeof setTimeout> | undefined;

  readonly #idleMs: number;

  constructor(
    idleMs = 30_000,
    outer?: AbortSignal,
    /** After waking up, a live connection has this long to show a byte: hosts ping every 10 s. */
    afterWake = 12_000,
  ) {
    this.#idleMs = idleMs;
    onWake(() => this.feed(Math.min(idleMs, afterWake)), this.signal);
    this.signal = AbortSignal.any([outer ?? this.signal, this.signal]);
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
