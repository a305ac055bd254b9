import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

const longestLine = 64 * 1024;

/** A TCP proxy that fails on demand. It stands for the network between a page and an agent host. */
export class FaultProxy {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  /** Cuts the next connections after a number of response bytes, one entry per connection. */
  readonly cuts: number[] = [];
  /** Stops responses after a number of bytes and keeps the connection open, one entry per connection. */
  readonly stalls: number[] = [];
  /** The next words in responses after which all connections are cut, one word at a time. */
  cutAfter: string[] = [];
  /** Whether new connections are dropped before any byte. */
  refuse = false;
  connections = 0;
  port = 0;

  constructor(private readonly target: URL) {
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

  /** Resets all open connections, as a lost network does. */
  cut(): void {
    for (const [near, far] of this.#pairs) {
      near.resetAndDestroy();
      far.destroy();
    }
    this.#pairs.clear();
  }

  /** A fetch that reaches the target through this proxy only, on a new connection each time. */
  readonly fetch: typeof fetch = (input, init) => {
    const url = String(input instanceof Request ? input.url : input);
    if (!url.startsWith(this.target.origin)) return fetch(input, init);
    return fetch(url.replace(this.target.origin, this.url), {
      ...init,
      headers: { ...(init?.headers as object), connection: 'close' },
    });
  };

  #pass(near: Socket): void {
    this.connections++;
    near.on('error', () => near.destroy());
    if (this.refuse) return void near.resetAndDestroy();
    const far = connect(Number(this.target.port), this.target.hostname);
    const pair = [near, far] as const;
    this.#pairs.add(pair);
    near.pipe(far);
    if (this.stalls.length > 0) this.#stall(far, near, this.stalls.shift()!);
    else far.pipe(near);
    this.#watch(far, near, this.cuts.shift() ?? Infinity);
    const end = () => {
      near.destroy();
      far.destroy();
      this.#pairs.delete(pair);
    };
    for (const socket of pair) socket.on('error', end).on('close', end);
  }

  /** Passes the beginning of a response, and nothing of what follows. */
  #stall(far: Socket, near: Socket, after: number): void {
    let passed = 0;
    far.on('data', (bytes) => {
      passed += bytes.length;
      if (passed <= after) near.write(bytes);
    });
  }

  /** Cuts the connection after a number of bytes of the response, and all connections after a word. */
  #watch(far: Socket, near: Socket, cut: number): void {
    let passed = 0;
    let line = '';
    far.on('data', (bytes) => {
      passed += bytes.length;
      if (passed > cut) near.destroy();
      line = (line + bytes.toString('latin1')).slice(-longestLine);
      if (!this.cutAfter[0] || !line.includes(this.cutAfter[0])) return;
      this.cutAfter.shift();
      this.cut();
    });
  }
}
