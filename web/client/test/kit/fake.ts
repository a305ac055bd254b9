import type { NativePart } from '../../src/index.js';

export const brokerUrl = 'http://broker.test';
export const hostUrl = 'http://host.test';

interface Call {
  method: string;
  path: string;
  body: Record<string, unknown>;
  headers: Headers;
}

interface Reader {
  send(text: string): void;
  end(): void;
  cut(): void;
}

/** A turn of the fake host: its frames so far, and its readers. */
export class FakeTurn {
  readonly frames: { id: string; part: NativePart }[] = [];
  readonly readers = new Set<Reader>();
  open = new Set<string>();
  over = false;

  constructor(
    readonly id: string,
    readonly epoch: number,
    readonly messageId: string,
    readonly basic = false,
  ) {}

  frame(at: number): string {
    const { id, part } = this.frames[at]!;
    if (this.basic) return `data: ${JSON.stringify(part)}\n\n`;
    return `id: ${id}\nevent: message\ndata: ${JSON.stringify(part)}\n\n`;
  }

  /** Streams parts to all readers. */
  send(...parts: NativePart[]): this {
    for (const part of parts) {
      this.frames.push({ id: `${this.epoch}-${this.frames.length + 1}`, part });
      if (part.type === 'tool-approval-request') this.open.add(part.approvalId);
      if (part.type === 'tool-approval-response') this.open.delete(part.approvalId);
      const over = ['finish', 'abort', 'error'].includes(part.type);
      if (over) this.over = true;
      for (const reader of [...this.readers]) {
        reader.send(this.frame(this.frames.length - 1));
        if (over) reader.end();
      }
    }
    return this;
  }

  text(id: string, ...pieces: string[]): this {
    this.send({ type: 'text-start', id });
    for (const text of pieces) this.send({ type: 'text-delta', id, text });
    return this.send({ type: 'text-end', id });
  }

  tool(toolCallId: string, toolName: string, output: unknown): this {
    return this.send(
      { type: 'tool-call', toolCallId, toolName, input: {} },
      { type: 'tool-result', toolCallId, toolName, output },
    );
  }

  ask(approvalId: string, toolCallId: string): this {
    const call = { toolCallId, toolName: 'Bash', input: { command: 'make' } };
    return this.send({ type: 'tool-call', ...call }, { type: 'tool-approval-request', approvalId, toolCall: call });
  }

  finish(): this {
    return this.send({ type: 'finish', finishReason: 'stop', totalUsage: { outputTokens: 2 } });
  }

  ping(): void {
    for (const reader of this.readers) reader.send(': ping\n\n');
  }

  cut(): void {
    for (const reader of [...this.readers]) reader.cut();
  }
}

/** Broker and agent host as a fetch function: the contract of protocol sections 1.1 to 2.1 from a client's view,
 * with faults on demand. */
export class FakeBellhop {
  readonly calls: Call[] = [];
  readonly turns: FakeTurn[] = [];
  readonly answers: { id: string; body: Record<string, unknown> }[] = [];
  /** Responses that replace the real ones, by "METHOD path", each used once; 0 = unreachable. */
  readonly faults = new Map<string, (number | [number, Record<string, unknown>])[]>();
  /** If set, resuming is a gap with this replay. */
  gap: { parts: NativePart[] } | undefined;
  /** The frames that a started turn sends. */
  script: (turn: FakeTurn, prompt: string) => void = (turn) => void turn.text('t1', 'Hello ', 'you').finish();
  onAnswer: (turn: FakeTurn, id: string, body: Record<string, unknown>) => void = () => undefined;
  answerStatus = 200;
  tokens = new Set<string>();
  /** A host of the basic flow: the token in the query alone, no ids, no resume. */
  basic = false;
  reachable = true;
  /** Broker and host name themselves and the request in their answers. */
  named = false;
  /** Answers in the place of broker and host; null = not. */
  between: (call: Call, own: () => Response) => Promise<Response> | null = () => null;
  onTurn: (turn: FakeTurn) => void = () => undefined;
  #token = 0;

  /** `name` is the prefix of its turns' ids. */
  constructor(private readonly name = 'turn') {}

  readonly fetch: typeof fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const call: Call = {
      method: init?.method ?? 'GET',
      path: url.pathname,
      body: typeof init?.body === 'string' ? (JSON.parse(init.body) as Record<string, unknown>) : {},
      headers: new Headers(init?.headers),
    };
    this.calls.push(call);
    init?.signal?.throwIfAborted();
    if (url.origin === hostUrl && !this.reachable) throw new TypeError('Failed to fetch');
    const fault = this.faults.get(`${call.method} ${call.path}`)?.shift();
    if (fault === 0) throw new TypeError('Failed to fetch');
    if (typeof fault === 'number') return json(fault, { error: 'A fault', code: '' });
    if (fault) return json(fault[0], fault[1]);
    const own = () => this.#name(call, url.origin === brokerUrl, this.#own(call, url, init?.signal));
    return this.between(call, own) ?? own();
  };

  #own(call: Call, url: URL, signal: AbortSignal | null | undefined): Response {
    return url.origin === brokerUrl ? this.#broker(call, url, signal) : this.#host(call, url, signal);
  }

  #name({ headers }: Call, broker: boolean, response: Response): Response {
    if (!this.named) return response;
    if (broker) response.headers.set('bellhop-broker', 'b1');
    const name = headers.get('bellhop-request');
    if (name) response.headers.set('bellhop-request', name);
    return response;
  }

  get turn(): FakeTurn {
    return this.turns.at(-1)!;
  }

  fail(call: string, ...answers: (number | [number, Record<string, unknown>])[]): void {
    this.faults.set(call, answers);
  }

  count(method: string, path: string): number {
    return this.calls.filter((call) => call.method === method && call.path === path).length;
  }

  #grant(reach: unknown): Record<string, unknown> {
    const streamToken = `token-${++this.#token}`;
    this.tokens.add(streamToken);
    const streamUrl = reach === 'relay' ? `${brokerUrl}/api/agent/stream/task` : `${hostUrl}/stream/task`;
    return {
      success: true,
      sessionId: 'task',
      streamToken,
      streamUrl,
      expiresAt: '',
      ...(reach === 'relay' && { reach }),
      ...(!this.basic && {
        capabilities: ['events', 'resume', ...(this.named ? ['named-answers'] : [])],
      }),
    };
  }

  #broker({ method, path, body }: Call, url: URL, signal: AbortSignal | null | undefined): Response {
    const last = this.turns.at(-1);
    switch (`${method} ${path}`) {
      case 'POST /api/agent': {
        const known = this.turns.find((turn) => turn.messageId === body.messageId);
        const turn =
          known ??
          new FakeTurn(
            `${this.name}-${this.turns.length + 1}`,
            this.turns.length + 1,
            String(body.messageId),
            this.basic,
          );
        if (!known) this.turns.push(turn);
        return json(200, { ...this.#grant(body.reach), messageId: turn.messageId, turnId: turn.id });
      }
      case 'POST /api/agent/attach':
        return json(200, {
          ...this.#grant(body.reach),
          agentStatus: 'busy',
          streamCursor: last && !last.over ? `${last.epoch}-0` : null,
        });
      case 'GET /api/tasks/task':
        return json(200, { id: 'task', openTurn: last && !last.over ? last.id : null });
      case 'POST /api/agent/interrupt':
        if (this.basic) return json(200, { success: true, closeStream: true });
        last?.send({ type: 'abort', reason: 'aborted' });
        return json(200, { success: true });
      case 'POST /api/agent/finish':
        return json(200, { success: true });
      case 'GET /api/agent/stream/task':
      case 'POST /api/agent/stream/task':
        return this.#host({ ...this.calls.at(-1)!, path: '/stream/task' }, url, signal);
    }
    const [, id] = /^\/api\/interactions\/(.+)$/.exec(path) ?? [];
    if (!id) return json(404, { error: 'No such route', code: 'not_found' });
    this.answers.push({ id, body });
    if (this.answerStatus !== 200)
      return json(this.answerStatus, { error: 'The question was answered otherwise', code: 'answered' });
    if (last) this.onAnswer(last, id, body);
    return json(200, { id, state: 'resolved' });
  }

  #host({ method, headers, body }: Call, url: URL, signal: AbortSignal | null | undefined): Response {
    const turn = this.turns.at(-1);
    const credential = this.basic ? url.searchParams.get('token') : headers.get('authorization')?.slice(7);
    if (!this.tokens.has(credential ?? '') || (this.basic && headers.has('authorization')))
      return json(401, { error: 'Expired', code: 'unauthorized' });
    if (!turn) return new Response(null, { status: 204 });
    const started = turn.frames.length > 0 || turn.readers.size > 0;
    const after = url.searchParams.get('after');
    if (method === 'GET' && turn.over && after === turn.frames.at(-1)?.id) return new Response(null, { status: 204 });
    return stream(
      signal,
      (reader) => {
        let from = 0;
        if (after !== null) {
          from = after.endsWith('-0') ? 0 : turn.frames.findIndex((frame) => frame.id === after) + 1;
          const verdict = this.gap ? 'gap' : 'ok';
          const at = (index: number) => turn.frames.at(index)?.id ?? '';
          const data = {
            verdict,
            from: from < turn.frames.length ? at(from) : '',
            to: at(-1),
            openInteractions: [...turn.open],
          };
          reader.send(`event: message\ndata: ${JSON.stringify({ type: 'data-resume', data })}\n\n`);
          for (const part of this.gap?.parts ?? []) reader.send(`event: message\ndata: ${JSON.stringify(part)}\n\n`);
          if (this.gap) from = turn.frames.length;
          this.gap = undefined;
        }
        for (let index = from; index < turn.frames.length; index++) reader.send(turn.frame(index));
        if (turn.over) return reader.end();
        turn.readers.add(reader);
        this.onTurn(turn);
        if (method === 'POST' && !started) this.script(turn, String(body.prompt));
        return undefined;
      },
      (reader) => turn.readers.delete(reader),
    );
  }
}

function json(status: number, body: Record<string, unknown>): Response {
  return Response.json(body, { status });
}

function stream(
  signal: AbortSignal | null | undefined,
  started: (reader: Reader) => void,
  gone: (reader: Reader) => void,
): Response {
  const encoder = new TextEncoder();
  let reader: Reader | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      let ended = false;
      const finish = (settle: () => void) => {
        if (ended) return;
        ended = true;
        gone(own);
        settle();
      };
      const own: Reader = {
        send: (text) => (ended ? undefined : controller.enqueue(encoder.encode(text))),
        end: () => finish(() => controller.close()),
        cut: () => finish(() => controller.error(new TypeError('terminated'))),
      };
      reader = own;
      signal?.addEventListener('abort', () => finish(() => controller.error(signal.reason)));
      started(own);
    },
    cancel() {
      if (reader) gone(reader);
    },
  });
  return new Response(body, { status: 200, headers: { 'content-type': 'text/event-stream' } });
}
