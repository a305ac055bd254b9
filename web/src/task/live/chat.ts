import { useChat, type UseChatHelpers } from '@ai-sdk/react';
import type { ConnectionState, Notice, OnConnection } from '@bellhop/client';
import { bellhop } from '@bellhop/client/ai-sdk';
import type { UIMessage } from 'ai';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { client } from '../../app/http.ts';
import type { Task } from '../../app/types.ts';
import { artifactsOf, type AttachedFile } from '../composer/attachments.ts';
import type { Outgoing } from '../composer/queue.ts';
import { batched } from './batch.ts';
import { useNotices } from './notices.ts';
import { stopper } from './stopper.ts';

export interface Connection {
  state: ConnectionState | 'none';
  reach: 'direct' | 'relay' | undefined;
  /** When the connection was lost; undefined while it is open. */
  lostAt: number | undefined;
}

export interface LiveChat {
  /** Assistant messages by turn: the running one and those that ended while the page was open. */
  live: ReadonlyMap<string, UIMessage>;
  /** The user's message that is being sent, or whose turn runs. */
  pending: UIMessage | undefined;
  status: 'submitted' | 'streaming' | 'ready' | 'error';
  error: Error | undefined;
  connection: Connection;
  /** Why the open turn cannot be streamed. The page retries by itself, and at once when `resume` is called. */
  failing: Error | undefined;
  /** What the host or the agent reported about the turn, beside its messages. They are not in the history. */
  notices: readonly Notice[];
  resume: () => void;
  /** Sends a message under its own id, so that a retry after a failure does not check it in twice. */
  send: (message: Outgoing) => void;
  stop: () => Promise<void>;
}

/** How many ended turns keep the form of the stream, with reasoning. Older ones are shown from history. */
const remembered = 20;
const offline: Connection = { state: 'none', reach: undefined, lostAt: undefined };

const filesOf = (files: readonly AttachedFile[]) =>
  files.map((f) => ({ type: 'file' as const, mediaType: f.mediaType, url: f.url, filename: f.name }));

/** The live side of a task: one turn at a time in useChat, resumed when the task has an open turn that is not shown. */
export function useLiveChat(taskId: string, task: Task | undefined, visible: boolean): LiveChat {
  const { transport, interrupt, connection } = useTransport(taskId);
  const { notices, read, forget } = useNotices();
  const chat = useChat({ id: taskId, transport, onData: read });
  const { messages, status, error, sendMessage, setMessages, clearError } = chat;
  const current = messages.findLast((m) => m.role === 'assistant');
  const pending = messages.findLast((m) => m.role === 'user');
  const { live, keep: keepTurn } = useEndedTurns(current);
  const keep = useCallback(() => {
    keepTurn();
    forget();
  }, [keepTurn, forget]);

  const send = useCallback(
    (message: Outgoing) => {
      keep();
      clearError();
      setMessages([]);
      const text = message.text ? [{ type: 'text' as const, text: message.text }] : [];
      void sendMessage(
        { id: message.id, role: 'user', parts: [...text, ...filesOf(message.files)] },
        { body: { artifacts: artifactsOf(message.files), ...(message.force && { force: true }) } },
      );
    },
    [keep, clearError, setMessages, sendMessage],
  );
  // A basic host cannot resume a stream: what it posts comes with the history.
  const resumable = task?.basicHost ? '' : (task?.openTurn ?? '');
  const { resume, failing } = useResume(chat, resumable, visible, {
    shown: current?.id,
    closed: connection.state === 'closed',
    keep,
  });
  return { live, pending, status, error, connection, failing, notices, resume, send, stop: interrupt };
}

/** The transport of a task, and the state of its connection. */
function useTransport(taskId: string) {
  const [connection, setConnection] = useState<Connection>(offline);
  const { transport, interrupt } = useMemo(() => {
    const onConnection: OnConnection = (state, { reach }) => {
      if (state === 'streaming' || state === 'closed') turns.arrived();
      setConnection((before) => ({ state, reach: reach ?? before.reach, lostAt: lostAt(state, before) }));
    };
    const native = bellhop({ endpoint: client.endpoint, taskId, approvals: 'live', onConnection });
    const turns = stopper(() => native.interrupt());
    return { transport: turns.watch(batched(native)), interrupt: turns.stop };
  }, [taskId]);
  return { transport, interrupt, connection };
}

function lostAt(state: ConnectionState, before: Connection): number | undefined {
  if (state === 'reconnecting') return before.lostAt ?? Date.now();
  return state === 'connecting' ? before.lostAt : undefined;
}

/**
 * Turns that ended while the page was open. `keep` adds the current one before it is removed from useChat, which would
 * copy all the turns that it has for every chunk.
 */
function useEndedTurns(current: UIMessage | undefined) {
  const [ended, setEnded] = useState<ReadonlyMap<string, UIMessage>>(new Map());
  const keep = useCallback(() => {
    setEnded((before) => (current ? new Map([...before, [current.id, current] as const].slice(-remembered)) : before));
  }, [current]);
  const live = useMemo(() => (current ? new Map([...ended, [current.id, current]]) : ended), [ended, current]);
  return { live, keep };
}

interface Shown {
  /** Id of the turn in useChat. */
  shown: string | undefined;
  /** Whether its stream was read to the end. */
  closed: boolean;
  keep: () => void;
}

/** Attaches to the task's open turn while nothing streams it, with growing delays between failed attempts. */
function useResume(
  { status, error, setMessages, resumeStream, clearError }: UseChatHelpers<UIMessage>,
  openTurn: string,
  visible: boolean,
  { shown, closed, keep }: Shown,
) {
  const busy = status === 'submitted' || status === 'streaming';
  const attempts = useRef({ turn: '', count: 0 });
  const resuming = useRef(false);
  const [failing, setFailing] = useState<Error>();
  const [asked, setAsked] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: asked changes when another attempt is due.
  useEffect(() => {
    if (!openTurn || busy || !visible || resuming.current) return;
    if (shown === openTurn && status === 'ready' && closed) return; // shown completely; the task's row follows
    if (attempts.current.turn !== openTurn) attempts.current = { turn: openTurn, count: 0 };
    const delay = attempts.current.count === 0 ? 0 : Math.min(30_000, 1000 * 2 ** attempts.current.count);
    const timer = setTimeout(() => {
      attempts.current.count++;
      if (shown !== openTurn) keep();
      setMessages((list) => list.filter((m) => m.role === 'user' || m.id === openTurn));
      clearError();
      // useChat shows no status while it attaches, and one attempt at a time is enough.
      resuming.current = true;
      void resumeStream().finally(() => {
        resuming.current = false;
        setAsked((n) => n + 1);
      });
    }, delay);
    return () => clearTimeout(timer);
  }, [openTurn, busy, visible, status, closed, shown, keep, setMessages, clearError, resumeStream, asked]);
  useEffect(() => {
    if (status === 'streaming') attempts.current.count = 0;
    if (status === 'streaming' || !openTurn) setFailing(undefined);
    else if (status === 'error') setFailing(error);
  }, [status, openTurn, error]);

  const resume = useCallback(() => {
    attempts.current.count = 0;
    setAsked((n) => n + 1);
  }, []);
  return { resume, failing };
}
