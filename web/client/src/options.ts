import type { FollowOptions } from './follow.js';

export interface ClientOptions extends Pick<FollowOptions, 'idleMs' | 'maxRetries' | 'onConnection'> {
  /** The broker's URL; "" (default) is the page's own origin. */
  endpoint?: string | undefined;
  /** An API token, or a function that returns a valid one. Without it the browser's cookie authenticates. */
  token?: string | (() => string | Promise<string>) | undefined;
  /** Whether requests to the broker carry cookies. Default `same-origin`, or `omit` with a token. */
  credentials?: RequestCredentials | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  fetch?: typeof fetch | undefined;
  /**
   * Whether the broker is known to name itself in its answers, so that no other answer counts. Without it, the client
   * knows from the first answer that does.
   */
  named?: boolean | undefined;
  /** `auto` (default): through the broker when the agent host cannot be reached from here. */
  relay?: 'auto' | 'always' | 'never' | undefined;
}

export interface RequestOptions {
  /** Sent as JSON. */
  body?: unknown;
  headers?: Readonly<Record<string, string>> | undefined;
  signal?: AbortSignal | undefined;
}
