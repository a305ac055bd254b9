import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  id: string;
  signature: string;
  body: Record<string, unknown>;
}

/** Somebody's own server that Bellhop's webhooks reach. */
export class Receiver {
  readonly received: Received[] = [];
  /** What the next request is answered, by status and body. */
  answer: (call: Received) => [number, unknown] = () => [200, { success: true }];
  #server: Server | undefined;

  async start(): Promise<this> {
    this.#server = createServer((request, response) => {
      let body = '';
      request.on('data', (bytes: Buffer) => (body += bytes.toString()));
      request.on('end', () => {
        const call: Received = {
          id: String(request.headers['webhook-id']),
          signature: String(request.headers['webhook-signature']),
          body: JSON.parse(body) as Record<string, unknown>,
        };
        this.received.push(call);
        const [status, answer] = this.answer(call);
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      });
    });
    await new Promise<void>((resolve) => this.#server?.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server?.address() as AddressInfo).port}/hook`;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }
}
