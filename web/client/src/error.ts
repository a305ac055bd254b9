/**
 * An error response of the broker or an agent host. Programs read `code` and `status`, users `message` and `hint`.
 * `origin` is the server that responded.
 */
export class BellhopError extends Error {
  override readonly name = 'BellhopError';
  readonly code: string;
  readonly hint: string;
  /** Whether the same request may succeed later. */
  readonly passing: boolean;

  /** `body` is the complete response: a failed check-in has messageId and turnId. `retryAfterMs` is 0 without
   * Retry-After. `foreign`: something in between has answered, not the server, so that only the status is known. */
  constructor(
    readonly status: number,
    readonly origin: string,
    readonly body: Readonly<Record<string, unknown>>,
    readonly retryAfterMs = 0,
    readonly foreign = false,
  ) {
    super(text(body.error) || `${origin} answered ${status}`);
    this.code = text(body.code);
    this.hint = text(body.hint);
    this.passing = foreign || status >= 500 || [408, 429].includes(status);
  }
}

/** Returns the error for a response that is not the server's answer to the request, and drops its body. */
export function foreignError(response: Response, origin: string): BellhopError {
  response.body?.cancel().catch(() => undefined);
  const error = 'Something other than Bellhop answered';
  const hint = 'A proxy or gateway on the way answered instead of the server';
  return new BellhopError(response.status, origin, { error, hint }, retryAfter(response), true);
}

function retryAfter({ headers }: Response): number {
  return Number(headers.get('retry-after')) * 1000 || 0;
}

const lost = 'network error';

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Reads an error response. For a body of another shape, such as a proxy's page, the error has only the status. */
export async function refusal(response: Response, origin: string): Promise<BellhopError> {
  // Not JSON: only the status is known.
  const body: unknown = await response.json().catch(() => undefined);
  return new BellhopError(response.status, origin, { ...(body as object) }, retryAfter(response));
}

/**
 * Returns the error for a server that cannot be reached. The AI SDK takes a TypeError whose message contains "network"
 * for a lost connection, and keeps the chat so that it can resume. `passing` is false if the network works but the
 * stream cannot be continued.
 */
export function networkError(origin: string, cause: unknown, passing = true): TypeError {
  const { message = String(cause) } = cause as Error;
  return message.startsWith(lost)
    ? (cause as TypeError)
    : Object.assign(new TypeError(`${lost}: ${origin}: ${message}`, { cause }), { passing });
}

/** Whether a retry cannot succeed. */
export function isFinal(error: unknown): boolean {
  return (error as Partial<BellhopError>).passing === false;
}

/** Parses a URL, which may be relative to the page's. */
export function urlOf(url: string): URL {
  return new URL(url, globalThis.location?.href);
}
