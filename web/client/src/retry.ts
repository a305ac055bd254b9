const first = 500;
const longest = 30_000;

/** Delays between attempts: doubled from 0.5 s to 30 s, with jitter so that clients of a restarted server do not come at once. */
export class Backoff {
  /** Zero when something was received: the next failure is a first one again. */
  attempt = 0;

  constructor(private readonly limit: number) {}

  /** Milliseconds to wait, undefined when it is time to give up. */
  next(atLeast = 0): number | undefined {
    if (this.attempt >= this.limit) return undefined;
    const delay = Math.min(longest, first * 2 ** this.attempt++);
    return Math.max(atLeast, delay * (0.5 + Math.random() / 2));
  }
}

/** Waits; the network's return or the page's, whichever comes first, ends it early. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  const over = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  await new Promise<unknown>((resolve) => {
    timer = setTimeout(resolve, ms);
    onWake(() => resolve(0), over.signal);
    signal?.addEventListener('abort', resolve, over);
    if (signal?.aborted) resolve(0);
  });
  clearTimeout(timer);
  over.abort();
  signal?.throwIfAborted();
}

/** Calls back when a browser comes online or its page becomes visible. */
function onWake(wake: () => void, signal: AbortSignal): void {
  globalThis.document?.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && wake(), { signal });
  globalThis.addEventListener?.('online', wake, { signal });
}

/** After waking up, a live connection has this long to show a byte: hosts ping every 10 s. */
const afterWake = 12_000;

/** Aborts its signal when an outer one does, or after a time without `feed`. */
export class Watchdog {
  readonly #abort = new AbortController();
  readonly signal: AbortSignal = this.#abort.signal;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly idleMs = 30_000,
    outer?: AbortSignal,
  ) {
    onWake(() => this.feed(Math.min(idleMs, afterWake)), this.signal);
    if (outer) this.signal = AbortSignal.any([outer, this.signal]);
    this.feed();
  }

  feed(ms = this.idleMs): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#abort.abort(new Error(`nothing came for ${ms / 1000} s`)), ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
  }
}
