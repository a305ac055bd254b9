import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useCallback, useRef, useState } from 'react';
import { client, describe } from '../../app/http.ts';
import type { Queue, QueuedMessage, TaskQueue } from '../../app/types.ts';
import { toast } from '../../ui/toast.tsx';
import { artifactsOf, type AttachedFile } from './attachments.ts';

/** A message on its way to the agent. */
export interface Outgoing {
  id: string;
  text: string;
  files: readonly AttachedFile[];
  /** Send the message even while a terminal client works in the session. */
  force?: boolean;
}

/** A task's queued messages, which the broker keeps and sends, and the ones that it does not have yet. */
export interface MessageQueue {
  messages: readonly QueuedMessage[];
  /** Messages that were written here and are not at the broker; `failed` says why. */
  adding: readonly Adding[];
  paused: Queue['paused'];
  reason: string;
  add: (message: Outgoing) => void;
  dismiss: (id: string) => void;
  change: (id: string, text: string) => void;
  move: (id: string, position: number) => void;
  remove: (id: string) => void;
  sendNow: (id: string) => void;
  resume: () => void;
}

export interface Adding extends Outgoing {
  failed: string;
}

const nothing: Queue = { messages: [], rev: 0 };

/** The queue of a task. The task's feed brings its summary; the messages are read when its rev changes. */
export function useMessageQueue(taskId: string, summary: TaskQueue | undefined): MessageQueue {
  const { data = nothing, refetch } = useQuery({
    queryKey: ['queue', taskId, summary?.rev ?? 0],
    queryFn: ({ signal }) => client.queue(taskId, signal),
    enabled: summary !== undefined,
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  });
  const messages = summary ? data.messages : nothing.messages;
  const { adding, add, dismiss } = useAdding(taskId, messages);
  const reportFailure = useCallback(
    (what: string, done: Promise<unknown>) =>
      void done.catch((error: unknown) => {
        toast(`${what}: ${describe(error).message}`);
        void refetch();
      }),
    [refetch],
  );
  return {
    messages,
    adding,
    paused: summary?.paused,
    reason: summary?.reason ?? '',
    add,
    dismiss,
    change: (id, text) => {
      if (text.trim() === '') reportFailure('Not removed', client.removeQueued(taskId, id));
      else reportFailure('Not changed', client.changeQueued(taskId, id, { message: text.trim() }));
    },
    move: (id, position) => reportFailure('Not moved', client.changeQueued(taskId, id, { position })),
    remove: (id) => reportFailure('Not removed', client.removeQueued(taskId, id)),
    sendNow: (id) => reportFailure('Not sent', client.sendQueued(taskId, id)),
    resume: () => reportFailure('Not resumed', client.pauseQueue(taskId, false)),
  };
}

/**
 * The messages whose request waits, runs or failed. A repeated request has the same id and queues the message once.
 * Requests run one after the other, because those that run at once may arrive in another order.
 */
function useAdding(taskId: string, messages: readonly QueuedMessage[]) {
  const [list, setList] = useState<readonly Adding[]>([]);
  const last = useRef<Promise<unknown>>(Promise.resolve());
  const dismiss = useCallback((id: string) => setList((before) => before.filter((m) => m.id !== id)), []);
  const add = useCallback(
    (message: Outgoing) => {
      setList((before) => [...before.filter((m) => m.id !== message.id), { ...message, failed: '' }]);
      const request = () =>
        client.queueMessage(taskId, {
          messageId: message.id,
          message: message.text,
          attachments: attachmentsOf(message),
          artifacts: artifactsOf(message.files),
        });
      last.current = last.current.then(request).then(
        () => setTimeout(() => dismiss(message.id), feedDelayMs),
        (error: unknown) =>
          setList((before) => before.map((m) => (m.id === message.id ? { ...m, failed: describe(error).message } : m))),
      );
    },
    [taskId, dismiss],
  );
  return { adding: list.filter((m) => !messages.some((queued) => queued.id === m.id)), add, dismiss };
}

/** How long a queued message stays in the list of added ones, until the task's feed has brought it. */
const feedDelayMs = 1000;

function attachmentsOf({ files }: Outgoing) {
  return files.map(({ kind, name, mediaType, url }) => ({
    type: kind === 'image' ? ('image' as const) : ('document' as const),
    mediaType,
    name,
    data: url.slice(url.indexOf(',') + 1),
  }));
}
