import { useChat } from '@ai-sdk/react';
import type { ConnectionState } from '@bellhop/client';
import { bellhop } from '@bellhop/client/ai-sdk';
import type { UIMessage } from 'ai';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { client } from '../../app/http.ts';
import type { Task } from '../../app/types.ts';
import type { ImageFile, Queued } from '../composer/queue.ts';
import { batched } from './batch.ts';

export interface Connection {
  state: ConnectionState | 'none';
  reach: 'direct' | 'relay' | undefined;
  /** When the connection was lost; undefined while it is there. */
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
  /** Why the open turn cannot be streamed; it is tried again by itself, and at once by resume. */
  failing: Error | undefined;
  resume: () => void;
  /** Sends a message under its own id: sent again after a failure, it is not checked in twice. */
  send: (message: Queued) => void;
  stop: () => Promise<void>;
}

/** Ended turns that stay as the stream showed them, with their reasoning; beyond, history is enough. */
const remembered = 20;
const offline: Connection = { state: 'none', reach: undefined, lostAt: undefined };

const filesOf = (files: readonly ImageFile[]) => files.map((f) => ({ type: 'file' as const, mediaType: f.mediaType, url: f.url, filename: f.name }));

/** The live side of a task: one turn at a time in useChat, resumed whenever the task has an open turn that is not shown. */
export function useLiveChat(taskId: string, task: Task | undefined, visible: boolean): LiveChat {
  const [connection, setConnection] = useState<Connection>(offline);
  const [ended, setEnded] = useState<ReadonlyMap<string, UIMessage>>(new Map());
  const transport = useMemo(
    () =>
      batched(
        bellhop({
          endpoint: client.endpoint,
          taskId,
          approvals: 'live',
          onConnection: (state, { reach }) =>
            setConnection((before) => ({ state, reach: reach ?? before.reach, lostAt: state === 'reconnecting' ? (before.lostAt ?? Date.now()) : state === 'connecting' ? before.lostAt : undefined })),
        }),
      ),
    [taskId],
  );
  const { messages, status, error, sendMessage, setMessages, resumeStream, clearError } = useChat({ id: taskId, transport });
  const current = messages.findLast((m) => m.role === 'assistant');
  const pending = messages.findLast((m) => m.role === 'user');
  const busy = status === 'submitted' || status === 'streaming';

  // What ended moves out of useChat, which copies all it has for every chunk.
  const keep = useCallback(() => {
    setEnded((before) => (current ? new Map([...before, [current.id, current] as const].slice(-remembered)) : before));
  }, [current]);

  const post = useCallback(
    (message: Queued) => {
      keep();
      clearError();
      setMessages([]);
      void sendMessage({ id: message.id, role: 'user', parts: [...(message.text ? [{ type: 'text' as const, text: message.text }] : []), ...filesOf(message.files)] });
    },
    [keep, clearError, setMessages, sendMessage],
  );

  const openTurn = task?.openTurn ?? '';
  const attempts = useRef({ turn: '', count: 0 });
  const resuming = useRef(false);
  const [failing, setFailing] = useState<Error>();
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    if (!openTurn || busy || !visible || resuming.current) return;
    if (current?.id === openTurn && status === 'ready' && connection.state === 'closed') return; // shown to its end; the task's row follows
    if (attempts.current.turn !== openTurn) attempts.current = { turn: openTurn, count: 0 };
    const delay = attempts.current.count === 0 ? 0 : Math.min(30_000, 1000 * 2 ** attempts.current.count);
    const timer = setTimeout(() => {
      attempts.current.count++;
      if (current?.id !== openTurn) keep();
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
  }, [openTurn, busy, visible, status, connection.state, current?.id, keep, setMessages, clearError, resumeStream, asked]);
  useEffect(() => {
    if (status === 'streaming') attempts.current.count = 0;
    if (status === 'streaming' || !openTurn) setFailing(undefined);
    else if (status === 'error') setFailing(error);
  }, [status, openTurn, error]);
  const resume = useCallback(() => {
    attempts.current.count = 0;
    setAsked((n) => n + 1);
  }, []);

  const live = useMemo(() => (current ? new Map([...ended, [current.id, current]]) : ended), [ended, current]);
  const stop = useCallback(() => client.interrupt(taskId), [taskId]);
  return { live, pending, status, error, connection, failing, resume, send: post, stop };
}
