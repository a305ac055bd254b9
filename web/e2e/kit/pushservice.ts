import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A push service with one browser: it opens what the broker sends, as the browser would (RFC 8291). */
export class PushService {
  readonly received: { headers: IncomingHttpHeaders; plain: string }[] = [];
  /** The status of the next answers; 201 after them. */
  readonly statuses: number[] = [];
  readonly #key = createECDH('prime256v1');
  readonly #auth = randomBytes(16);
  #server: Server | undefined;

  async start(): Promise<this> {
    this.#key.generateKeys();
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const status = this.statuses.shift() ?? 201;
        if (status === 201) {
          this.#check(request.headers);
          this.received.push({ headers: request.headers, plain: this.#open(Buffer.concat(parts)) });
        }
        response.writeHead(status).end();
      });
    });
    await new Promise<void>((resolve) => this.#server?.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get origin(): string {
    const address = this.#server?.address() as AddressInfo | undefined;
    return `http://127.0.0.1:${address?.port}`;
  }

  /** What PushSubscription.toJSON returns in a browser of this service. */
  get subscription() {
    return {
      endpoint: `${this.origin}/push/1`,
      keys: { p256dh: this.#key.getPublicKey('base64url'), auth: this.#auth.toString('base64url') },
    };
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  /** Throws unless the sender identifies itself (RFC 8292). */
  #check(headers: IncomingHttpHeaders): void {
    const [, head = '', claims = '', signature = '', key = ''] =
      /^vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), k=([\w-]+)$/.exec(headers.authorization ?? '') ?? [];
    const point = Buffer.from(key, 'base64url');
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString('base64url'));
    const sender = createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '' } });
    const signed = verify(
      'sha256',
      Buffer.from(`${head}.${claims}`),
      { key: sender, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    );
    const { aud } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { aud: string };
    if (!signed || aud !== this.origin) throw new Error(`authorization ${headers.authorization}`);
  }

  #open(body: Buffer): string {
    const salt = body.subarray(0, 16);
    const sender = body.subarray(21, 21 + (body[20] ?? 0));
    const sealed = body.subarray(21 + sender.length);
    const shared = this.#key.computeSecret(sender);
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), this.#key.getPublicKey(), sender]);
    const secret = Buffer.from(hkdfSync('sha256', shared, this.#auth, info, 32));
    const derive = (name: string, size: number) =>
      Buffer.from(hkdfSync('sha256', secret, salt, `Content-Encoding: ${name}\0`, size));
    const cipher = createDecipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12));
    cipher.setAuthTag(sealed.subarray(-16));
    const padded = Buffer.concat([cipher.update(sealed.subarray(0, -16)), cipher.final()]);
    return padded.subarray(0, padded.lastIndexOf(2)).toString();
  }
}
