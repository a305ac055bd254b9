import { afterEach, describe, expect, it, vi } from 'vitest';
import { connect, isReport } from './connection.ts';

afterEach(() => vi.unstubAllGlobals());

it('keeps what is typed before the connection is open', () => {
  const sent: string[] = [];
  const sockets: FakeSocket[] = [];
  class FakeSocket {
    static readonly CONNECTING = 0;
    static readonly OPEN = 1;
    readyState = FakeSocket.CONNECTING;
    onopen = () => undefined as void;
    constructor() {
      sockets.push(this);
    }
    send(message: string | Uint8Array) {
      sent.push(typeof message === 'string' ? 'request' : new TextDecoder().decode(message));
    }
  }
  vi.stubGlobal('WebSocket', FakeSocket);
  const events = { onOpen: () => undefined, onOutput: () => undefined, onEnd: () => undefined };
  const terminal = connect('t', '', { columns: 80, rows: 24 }, events);
  terminal.type('e');
  terminal.type('c');
  expect(sent).toEqual([]);
  const [socket] = sockets;
  if (socket) socket.readyState = FakeSocket.OPEN;
  socket?.onopen();
  terminal.type('ho');
  expect(sent).toEqual(['request', 'e', 'c', 'ho']);
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
