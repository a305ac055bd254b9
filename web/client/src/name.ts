/** The headers with the names of a request, and of the broker that answers (docs/protocol.md, "Whose answer it is"). */
export const requestHeader = 'bellhop-request';
export const brokerHeader = 'bellhop-broker';

/** A random name for a request, of 128 bits. Pages served without TLS have no crypto.randomUUID. */
export function requestName(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}

/** The options of a request for something that is done once: a copy that arrives late has no effect. */
export function once(body?: unknown): { body?: unknown; headers: Record<string, string> } {
  return { body, headers: { 'idempotency-key': requestName() } };
}

/** Whether a response names a broker, and repeats the name of its request if that has one. */
export function isOfBroker({ headers }: Pick<Response, 'headers'>, request: string | null | undefined): boolean {
  return headers.has(brokerHeader) && (!request || headers.get(requestHeader) === request);
}
