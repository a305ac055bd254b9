import { useCallback, useEffect, useRef, useState } from 'react';
import type { Message } from '../../app/types.ts';
import type { HistoryState } from '../history.ts';
import { newId } from '../id.ts';
import { readUnsent, saveUnsent, takeFirstMessage } from './draft.ts';
import { queueOf, useQueue, type ImageFile, type MessageQueue, type Queued } from './queue.ts';

export interface Outbox {
  queue: MessageQueue;
  /** How many messages this page has sent. */
  sent: number;
  /** Sends a message, or queues it while the agent is busy. */
  submit: (text: string, files: readonly ImageFile[]) => void;
  /** Sends the message that failed again, under its own id. */
  retry: (lastRow: Message | undefined, pendingId: string | undefined) => void;
}

/** The user's messages on their way to the agent: one at a time, kept by the browser until history has them. */
export function useOutbox(
  taskId: string,
  post: (message: Queued) => void,
  { rows, rev }: HistoryState,
  { busy, failed }: { busy: boolean; failed: boolean },
): Outbox {
  const queue = queueOf(taskId);
  const queued = useQueue(queue);
  const [sent, setSent] = useState(0);
  const lastSent = useRef<Queued>(undefined);
  const send = useCallback(
    (message: Queued) => {
      lastSent.current = message;
      saveUnsent(taskId, message);
      setSent((n) => n + 1);
      post(message);
    },
    [post, taskId],
  );
  useEffect(() => {
    const unsent = readUnsent(taskId);
    if (unsent && rows.some((r) => r.id === unsent.id)) saveUnsent(taskId, null);
  }, [taskId, rows]);

  const ready = rev !== undefined;
  useEffect(() => {
    if (busy || !ready || failed) return;
    const first = takeFirstMessage(taskId);
    if (first) return send({ id: newId(), text: first, files: [] });
    const next = queued.length > 0 ? queue.shift() : undefined;
    if (next) send(next);
  }, [busy, ready, failed, taskId, queue, queued, send]);

  const submit = (text: string, files: readonly ImageFile[]) => {
    const message = { id: newId(), text, files };
    if (busy || (queued.length > 0 && !failed)) queue.add(message);
    else send(message);
  };
  const retry = (lastRow: Message | undefined, pendingId: string | undefined) => {
    const message =
      lastSent.current && lastSent.current.id === (pendingId ?? lastRow?.id)
        ? lastSent.current
        : (readUnsent(taskId) ?? (lastRow && { id: lastRow.id, text: lastRow.message }));
    if (message) send({ files: [], ...message });
  };
  return { queue, sent, submit, retry };
}
