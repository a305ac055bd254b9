import { useCallback, useEffect, useRef, useState } from 'react';
import type { LastTurn, Message } from '../../app/types.ts';
import type { HistoryState } from '../history.ts';
import { newId } from '../id.ts';
import { readUnsent, saveUnsent, takeFirstMessage } from './draft.ts';
import { queueOf, usePaused, useQueue, type ImageFile, type MessageQueue, type Queued } from './queue.ts';

export interface Outbox {
  queue: MessageQueue;
  /** How many messages this page has sent. */
  sent: number;
  /** Sends a message, or queues it while the agent is busy. */
  submit: (text: string, files: readonly ImageFile[]) => void;
  /** Pauses the queue: the user is about to stop the agent. */
  pause: () => void;
  /** Sends the message that failed again, under its own id. */
  retry: (lastRow: Message | undefined, pendingId: string | undefined) => void;
}

/** The user's messages on their way to the agent: one at a time, kept by the browser until history has them. */
export function useOutbox(
  taskId: string,
  post: (message: Queued) => void,
  { rows, rev }: HistoryState,
  { busy, failed, lastTurn }: { busy: boolean; failed: boolean; lastTurn: LastTurn | null },
): Outbox {
  const queue = queueOf(taskId);
  const queued = useQueue(queue);
  const paused = usePaused(queue);
  const pause = usePauseOnStop(queue, lastTurn);
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
    if (paused || queue.paused) return;
    const next = queued.length > 0 ? queue.shift() : undefined;
    if (next) send(next);
  }, [busy, ready, failed, taskId, queue, queued, paused, send]);

  const submit = (text: string, files: readonly ImageFile[]) => {
    const message = { id: newId(), text, files };
    if (busy || (queued.length > 0 && !failed && !paused)) queue.add(message);
    else send(message);
  };
  const retry = (lastRow: Message | undefined, pendingId: string | undefined) => {
    const message =
      lastSent.current && lastSent.current.id === (pendingId ?? lastRow?.id)
        ? lastSent.current
        : (readUnsent(taskId) ?? (lastRow && { id: lastRow.id, text: lastRow.message }));
    if (message) send({ files: [], ...message });
  };
  return { queue, sent, submit, pause, retry };
}

/** Pauses the queue when the agent is stopped: by the returned function, or from another page of the user. */
function usePauseOnStop(queue: MessageQueue, lastTurn: LastTurn | null): () => void {
  const seen = useRef(lastTurn?.id);
  const stoppedHere = useRef(false);
  useEffect(() => {
    if (!lastTurn || lastTurn.id === seen.current) return;
    seen.current = lastTurn.id;
    // Messages that were queued after this page's own stop are meant to be sent next.
    if (lastTurn.reason === 'aborted' && !stoppedHere.current) queue.pause();
    stoppedHere.current = false;
  }, [lastTurn, queue]);
  return useCallback(() => {
    stoppedHere.current = true;
    queue.pause();
  }, [queue]);
}
