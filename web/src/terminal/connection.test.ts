import { afterEach, describe, expect, it, vi } from 'vitest';
import { connect, isReport, type End } from './connection.ts';

afterEach(() => vi.unstubAllGlobals());

class FakeSocket {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static opened: FakeSocket[] = [];
  readonly sent: string[] = [];
  readyState = FakeSocket.CONNECTING;
  onopen = () => undefined as void;
  onmessage = (_: { data: string }) => undefined as void;
  onclose = (_: { reason: string }) => undefined as void;
  constructor() {
    FakeSocket.opened.push(this);
  }
  send(message: string | Uint8Array) {
    this.sent.push(typeof message === 'string' ? 'request' : new TextDecoder().decode(message));
  }
}

/** A terminal, and the connection to its broker. */
function connected() {
  FakeSocket.opened = [];
  vi.stubGlobal('WebSocket', FakeSocket);
  const onEnd = vi.fn<(end: End) => void>();
  const events = { onOpen: () => undefined, onOutput: () => undefined, onEnd };
  const terminal = connect('t', '', { columns: 80, rows: 24 }, events);
  const [socket] = FakeSocket.opened;
  if (!socket) throw new Error('no connection');
  return { terminal, socket, onEnd };
}

it('keeps what is typed before the connection is open', () => {
  const { terminal, socket } = connected();
  terminal.type('e');
  terminal.type('c');
  expect(socket.sent).toEqual([]);
  socket.readyState = FakeSocket.OPEN;
  socket.onopen();
  terminal.type('ho');
  expect(socket.sent).toEqual(['request', 'e', 'c', 'ho']);
});

it.each([
  ['the exit code', { exit: 3 }, '', { reason: 'The shell has ended with exit code 3', lost: false, gone: false }],
  ['a lost connection', undefined, '', { reason: 'The connection was lost', lost: true, gone: false }],
  ['the reason of the broker', undefined, 'No more', { reason: 'No more', lost: false, gone: false }],
  ['its reason when it ended the shell', { exit: 130 }, 'No more', { reason: 'No more', lost: false, gone: false }],
])('shows %s', (_what, notice, reason, end) => {
  const { socket, onEnd } = connected();
  if (notice) socket.onmessage({ data: JSON.stringify(notice) });
  socket.onclose({ reason });
  expect(onEnd).toHaveBeenCalledExactlyOnceWith(end);
});

describe('isReport', () => {
  it.each([
    '\x1b[?1;2c',
    '\x1b[>0;276;0c',
    '\x1b[12;40R',
    '\x1b[0n',
    '\x1b[?2004;1$y',
    '\x1b]11;rgb:0/0/0\x1b\\',
    '\x1bP1$r0m\x1b\\',
  ])('is true for what the terminal answers: %j', (text) => expect(isReport(text)).toBe(true));
  it.each(['f', '\r', '\x03', '\x1b', '\x1b[A', '\x1bOP', '\x1b[3~', '\x1b[200~text c\x1b[201~', 'größe'])(
    'is false for what a user types: %j',
    (text) => expect(isReport(text)).toBe(false),
  );
});
