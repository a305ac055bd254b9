/** A random id of 128 bits in hex. Pages served without TLS have no crypto.randomUUID. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
}
