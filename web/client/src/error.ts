/**
 * A refusal by the broker or an agent host. Programs read `code` and `status`, people `message` and `hint`; `origin` is the
 * server that answered.
 */
export class BellhopError extends Error {
  override readonly name = 'BellhopError';
  readonly status: number;
  readonly code: string;
  readonly hint: string;
  readonly origin: string;
  /** The whole answer: a failed check-in carries messageId and turnId. */
  readonly body: Readonly<Record<string, unknown>>;
  /** What Retry-After asked for, 0 if nothing. */
  readonly retryAfterMs: number;

  constructor(status: number, origin: string, body: Readonly<Record<string, unknown>>, retryAfterMs = 0) {
    super(text(body.error) || `${origin} answered ${status}`);
    this.status = status;
    this.code = text(body.code);
    this.hint = text(body.hint);
    this.origin = origin;
    this.body = body;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether the same request may work later. */
  get passing(): boolean {
    return this.status >= 500 || this.status === 429 || this.status === 408;
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Reads the one error shape of both servers; anything else, such as a proxy's page, becomes an error of that status. */
export async function refusal(response: Response, origin: string): Promise<BellhopError> {
  let body: Record<string, unknown> = {};
  try {
    const parsed: unknown = await response.json();
    if (typeof parsed === 'object' && parsed !== null) body = { ...parsed };
  } catch {
    // not JSON: the status has to do
  }
  const seconds = Number(response.headers.get('retry-after'));
  return new BellhopError(response.status, origin, body, seconds > 0 ? seconds * 1000 : 0);
}

/**
 * A server that cannot be reached. The AI SDK takes a TypeError whose message says "network" for a lost connection and
 * keeps the chat's state, so that it can resume.
 */
export function networkError(origin: string, cause: unknown): TypeError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return why.startsWith('network error') ? (cause as TypeError) : new TypeError(`network error: ${origin}: ${why}`, { cause });
}

export function originOf(url: string): string {
  try {
    return new URL(url, globalThis.location?.href).origin;
  } catch {
    return url;
  }
}
