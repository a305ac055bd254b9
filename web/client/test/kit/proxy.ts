import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP proxy that fails on demand. It stands for the network between a page and an agent host. */
export class FaultProxy {
  readonly #server: Server;
  readonly #pairs = new Set<{ near: Socket; far: Socket }>();
  /** Cuts the next connections after a number of response bytes, one entry per connection. */
  readonly cuts: number[] = [];
  /** Stops responses after a number of bytes and keeps the connection open, one entry per connection. */
  readonly stalls: number[] = [];
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

  /** Cuts all open connections. */
  cut(): void {
    for (const { near, far } of this.#pairs) {
      near.destroy();
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
    if (this.refuse) return void near.destroy();
    const far = connect(Number(this.target.port), this.target.hostname);
    const pair = { near, far };
    this.#pairs.add(pair);
    const cut = this.cuts.shift();
    const stall = this.stalls.shift();
    let passed = 0;
    near.pipe(far);
    far.on('data', (bytes) => {
      passed += bytes.length;
      if (stall !== undefined && passed > stall) return;
      near.write(bytes);
      if (cut !== undefined && passed > cut) near.destroy();
    });
    const end = () => {
      near.destroy();
      far.destroy();
      this.#pairs.delete(pair);
    };
    for (const socket of [near, far]) socket.on('error', end).on('close', end);
  }
}
