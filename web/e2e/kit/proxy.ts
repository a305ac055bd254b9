import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** The network between a page and an agent host, which a test lets fail. */
export class FaultProxy {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  /** Connections are dropped before a byte is said. */
  refuse = false;
  connections = 0;
  port = 0;
  target = 0;

  constructor() {
    this.#server = createServer((near) => this.#pass(near));
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Breaks off what is open, as a lost network does: nothing is said at the end. Answers how much it was. */
  cut(): number {
    const open = this.#pairs.size;
    for (const [near, far] of this.#pairs) {
      near.resetAndDestroy();
      far.destroy();
    }
    this.#pairs.clear();
    return open;
  }

  #pass(near: Socket): void {
    this.connections++;
    near.on('error', () => near.destroy());
    if (this.refuse) return void near.resetAndDestroy();
    const far = connect(this.target, '127.0.0.1');
    const pair = [near, far] as const;
    this.#pairs.add(pair);
    near.pipe(far).pipe(near);
    const end = () => {
      near.destroy();
      far.destroy();
      this.#pairs.delete(pair);
    };
    for (const socket of pair) socket.on('error', end).on('close', end);
  }
}
