/**
 * A refusal by the broker or an agent host. Programs read `code` and `status`, people `message` and `hint`; `origin` is the
 * server that answered.
 */
export class BellhopError extends Error {
  override readonly name = 'BellhopError';
  /** `body` is the whole answer: a failed check-in carries messageId and turnId. `retryAfterMs` is 0 where nothing was said. */
  constructor(
    readonly status: number,
    readonly origin: string,
    readonly body: Readonly<Record<string, unknown>>,
    readonly retryAfterMs = 0,
  ) {
    super(text(body.error) || `${origin} answered ${status}`);
  }

  get code(): string {
    return text(this.body.code);
  }

  get hint(): string {
    return text(this.body.hint);
  }

  /** Whether the same request may work later. */
  get passing(): boolean {
    return this.status >= 500 || [408, 429].includes(this.status);
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Reads the one error shape of both servers; anything else, such as a proxy's page, becomes an error of that status. */
export async function refusal(response: Response, origin: string): Promise<BellhopError> {
  // Not JSON: the status has to do.
  const body: unknown = await response.json().catch(() => undefined);
  return new BellhopError(response.status, origin, { ...(body as object) }, Number(response.headers.get('retry-after')) * 1000 || 0);
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
  return new URL(url, globalThis.location?.href).origin;
}
