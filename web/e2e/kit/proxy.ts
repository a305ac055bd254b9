import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A proxy between a page and an agent host that fails on demand. */
export class FaultProxy {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  /** Whether new connections are dropped before any byte. */
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

  /** Resets all open connections, as a lost network does. Returns how many there were. */
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
