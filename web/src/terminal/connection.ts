import { config } from '../app/config.ts';
import type { TerminalNotice, TerminalRequest } from '../app/types.ts';

/** The subprotocol of terminals. */
const protocol = 'bellhop.terminal.v1';

/** Output is acknowledged in steps of so many bytes: the host sends 256 KiB before it waits. */
const acknowledgeEvery = 32 << 10;

/** Input is sent in pieces, because a message has at most 64 KiB. */
const longestMessage = 16 << 10;

/** More is not typed at once: the host keeps 1 MiB that the programs have not read. */
export const longestInput = 512 << 10;

/** For how long a connection to the host itself is attempted. */
const directTime = 10_000;

export interface Size {
  columns: number;
  rows: number;
}

/** How a terminal has ended. */
export interface End {
  /** Why, in words. */
  reason: string;
  /** Whether the terminal can be shown again, because only the connection was lost. */
  lost: boolean;
  /** Whether the terminal that was to be shown again had ended before. */
  gone: boolean;
}

export interface Events {
  /** The terminal is shown from its newest output on; earlier output is repeated. */
  onOpen: (id: string) => void;
  /** Shows output, and calls `shown` when it is on the screen. */
  onOutput: (bytes: Uint8Array, shown: () => void) => void;
  onEnd: (end: End) => void;
}

export interface Connection {
  /** Types text. Returns false, and types nothing, if it is too long. */
  type: (text: string) => boolean;
  /** Types bytes that are no text, such as reports of the mouse. */
  typeBytes: (bytes: Uint8Array<ArrayBuffer>) => boolean;
  resize: (size: Size) => void;
  /** Ends the terminal with its programs. */
  end: () => void;
  /** Leaves the terminal, which goes on for a while. */
  leave: () => void;
}

/**
 * Connects to a terminal in a task's workspace: to the one with an id, or to a new one for ''. The broker passes it on,
 * until a connection to the host itself is open. If that one is lost, the broker passes the terminal on again.
 */
export function connect(taskId: string, id: string, size: Size, events: Events): Connection {
  let now = size;
  let url = '';
  let end: End | undefined;
  let repeated = 0; // bytes that are shown again and not on the screen yet
  let shownBy: Channel | undefined;
  const handle = (channel: Channel) => ({
    onNotice: (notice: TerminalNotice) => {
      if (notice.url) url = notice.url;
      if (notice.ticket && url) direct = openDirect(url, notice.ticket);
      if (notice.id) {
        shownBy = channel;
        repeated = notice.repeated ?? 0;
        events.onOpen(notice.id);
      }
      end ??= endOf(notice);
    },
    onOutput: (bytes: Uint8Array, shown: () => void) => {
      if (shownBy !== channel) return; // the other one shows it again
      events.onOutput(bytes, () => {
        repeated = Math.max(0, repeated - bytes.byteLength);
        shown();
      });
    },
  });
  const openDirect = (at: string, ticket: string) => {
    const channel = new Channel(new URL(at), () => channel.request({ ticket, size: now }));
    channel.listen(handle(channel), () => undefined);
    setTimeout(() => channel.giveUp(), directTime);
    return channel;
  };
  let direct: Channel | undefined;
  const broker = new Channel(brokerUrl(taskId), () => broker.request({ ...(id && { id }), size: now, direct: true }));
  broker.listen(handle(broker), (reason) => {
    direct?.close();
    // The broker ends the shell of a user who may not use it any more: the host's word about that can come first.
    if (reason) events.onEnd({ reason, lost: false, gone: false });
    else events.onEnd(end ?? { reason: 'The connection was lost', lost: true, gone: false });
  });
  // Input always takes the way through the broker: on two ways at once keys could overtake each other.
  const typeBytes = (bytes: Uint8Array<ArrayBuffer>) => {
    if (bytes.length > longestInput) return false;
    broker.type(bytes);
    return true;
  };
  return {
    // Repeated output can have questions of programs, which were answered before.
    type: (text) => (repeated > 0 && isReport(text)) || typeBytes(new TextEncoder().encode(text)),
    typeBytes,
    resize: (next) => {
      now = next;
      broker.request({ size: next });
    },
    end: () => broker.request({ end: true }),
    leave: () => {
      direct?.close();
      broker.close();
    },
  };
}

/** Whether text is what xterm.js answers to a question about itself, the cursor or colours. */
export function isReport(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: reports begin with an escape character
  return /^\x1b(\[[?>]?[\d;]*([cnR]|\$y)|[\]P])/.test(text);
}

function brokerUrl(taskId: string): URL {
  const url = new URL(`${config.base}api/tasks/${encodeURIComponent(taskId)}/shell`, location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url;
}

interface Handler {
  onNotice: (notice: TerminalNotice) => void;
  onOutput: (bytes: Uint8Array, shown: () => void) => void;
}

/** One WebSocket: the broker's, or the host's. */
class Channel {
  readonly #socket: WebSocket | undefined;
  #unacknowledged = 0;
  /** Input from before the connection is open. */
  #early: Uint8Array<ArrayBuffer>[] = [];

  constructor(url: URL, onOpen: () => void) {
    try {
      this.#socket = new WebSocket(url, protocol);
      this.#socket.binaryType = 'arraybuffer';
      this.#socket.onopen = () => {
        onOpen();
        for (const bytes of this.#early) this.type(bytes);
        this.#early = [];
      };
    } catch {
      // A page of https may not connect to a host without it.
    }
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  listen({ onNotice, onOutput }: Handler, onClose: (reason: string) => void) {
    if (!this.#socket) return;
    this.#socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === 'string') onNotice(JSON.parse(data) as TerminalNotice);
      else onOutput(new Uint8Array(data), () => this.#acknowledge(data.byteLength));
    };
    this.#socket.onclose = ({ reason }) => onClose(reason);
  }

  #acknowledge(bytes: number) {
    this.#unacknowledged += bytes;
    if (this.#unacknowledged < acknowledgeEvery) return;
    this.request({ shown: this.#unacknowledged });
    this.#unacknowledged = 0;
  }

  request(message: TerminalRequest) {
    if (this.isOpen) this.#socket?.send(JSON.stringify(message));
  }

  type(bytes: Uint8Array<ArrayBuffer>) {
    if (this.#socket?.readyState === WebSocket.CONNECTING) this.#early.push(bytes);
    if (!this.isOpen) return;
    for (let at = 0; at < bytes.length; at += longestMessage) {
      this.#socket?.send(bytes.subarray(at, at + longestMessage));
    }
  }

  /** Closes a connection that is not open yet. */
  giveUp() {
    if (this.#socket?.readyState === WebSocket.CONNECTING) this.close();
  }

  close() {
    if (!this.#socket) return;
    this.#socket.onclose = null;
    this.#socket.close();
  }
}

function endOf({ ended, exit, error }: TerminalNotice): End | undefined {
  if (error) {
    const reason = [error.error, error.hint].filter(Boolean).join('. ');
    return { reason, lost: false, gone: error.code === 'gone' };
  }
  if (exit !== undefined) return { reason: `The shell has ended with exit code ${exit}`, lost: false, gone: false };
  return ended ? { reason: `${ended[0]?.toUpperCase()}${ended.slice(1)}`, lost: false, gone: false } : undefined;
}
