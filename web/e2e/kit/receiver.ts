import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  id: string;
  signature: string;
  body: Record<string, unknown>;
}

/** A server that receives Bellhop's webhooks. */
export class Receiver {
  readonly received: Received[] = [];
  /** Returns status and body of the response to a request. */
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
    const address = this.#server?.address() as AddressInfo | undefined;
    return `http://127.0.0.1:${address?.port}/hook`;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }
}
