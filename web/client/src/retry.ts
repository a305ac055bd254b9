const first = 500;
const longest = 30_000;

/** Delays between attempts: doubled from 0.5 s to 30 s, with jitter so that clients of a restarted server do not come at once. */
export class Backoff {
  attempt = 0;

  constructor(private readonly limit: number) {}

  /** Something was received: the next failure is a first one again. */
  reset(): void {
    this.attempt = 0;
  }

  /** Milliseconds to wait, undefined when it is time to give up. */
  next(atLeast = 0): number | undefined {
    if (this.attempt >= this.limit) return undefined;
    const delay = Math.min(longest, first * 2 ** this.attempt++);
    return Math.max(atLeast, delay * (0.5 + Math.random() / 2));
  }
}

/** Waits; the network's return or the page's, whichever comes first, ends it early. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      clearTimeout(timer);
      forget();
      signal?.removeEventListener('abort', aborted);
      settle();
    };
    const aborted = () => end(() => reject(signal?.reason));
    const timer = setTimeout(() => end(resolve), ms);
    const forget = onWake(() => end(resolve));
    if (signal?.aborted) aborted();
    else signal?.addEventListener('abort', aborted);
  });
}

/** Calls back when a browser comes online or its page becomes visible. Returns how to stop. */
export function onWake(wake: () => void): () => void {
  const visible = () => {
    if (document.visibilityState === 'visible') wake();
  };
  const page = typeof document === 'undefined' ? undefined : document;
  const online = typeof addEventListener === 'undefined' ? undefined : globalThis;
  page?.addEventListener('visibilitychange', visible);
  online?.addEventListener('online', wake);
  return () => {
    page?.removeEventListener('visibilitychange', visible);
    online?.removeEventListener('online', wake);
  };
}

/** After waking up, a live connection has this long to show a byte: hosts ping every 10 s. */
const afterWake = 12_000;

/** Aborts its signal after a time without `feed`. */
export class Watchdog {
  readonly #abort = new AbortController();
  readonly #forget: () => void;
  readonly #outer: AbortSignal | undefined;
  readonly #pass = () => this.#abort.abort(this.#outer?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly idleMs: number,
    outer?: AbortSignal,
  ) {
    this.#outer = outer;
    this.#forget = onWake(() => this.#arm(Math.min(idleMs, afterWake)));
    if (outer?.aborted) this.#pass();
    else outer?.addEventListener('abort', this.#pass);
    this.feed();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  feed(): void {
    this.#arm(this.idleMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#forget();
    this.#outer?.removeEventListener('abort', this.#pass);
    this.#abort.abort();
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#abort.abort(new Error(`nothing came for ${Math.round(ms / 1000)} s`)), ms);
  }
}
