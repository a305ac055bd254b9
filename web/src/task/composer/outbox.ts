import { useCallback, useEffect, useRef, useState } from 'react';
import { client } from '../../app/http.ts';
import type { Message, Task } from '../../app/types.ts';
import type { HistoryState } from '../history.ts';
import { toast } from '../../ui/toast.tsx';
import { newId } from '../id.ts';
import { keptFiles, type AttachedFile } from './attachments.ts';
import { readUnsent, saveUnsent, takeFirstMessage } from './draft.ts';
import { useMessageQueue, type MessageQueue, type Outgoing } from './queue.ts';

/** Sends a text or queues it. It resolves when the message cannot be lost any more, and rejects if it was refused. */
export type Deliver = (message: { id: string; text: string }) => Promise<void>;

export interface Outbox {
  queue: MessageQueue;
  /** How many messages this page has sent. */
  sent: number;
  /** Sends a message, or queues it at the broker while the agent is busy. */
  submit: (text: string, files: readonly AttachedFile[]) => void;
  deliver: Deliver;
  /** Sends the message that failed again, under its own id. */
  retry: (lastRow: Message | undefined, pendingId: string | undefined, force: boolean) => void;
}

/** The user's messages on their way to the agent. The browser keeps one that the page sends until history has it. */
export function useOutbox(
  task: Task,
  post: (message: Outgoing) => void,
  { rows, rev }: HistoryState,
  { busy, failed }: { busy: boolean; failed: boolean },
): Outbox {
  const taskId = task.id;
  const queue = useMessageQueue(taskId, task.queue);
  const [sent, setSent] = useState(0);
  const lastSent = useRef<Outgoing>(undefined);
  const send = useCallback(
    (message: Outgoing) => {
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
    if (first) send({ id: newId(), text: first, files: [] });
  }, [busy, ready, failed, taskId, send]);

  const waits = busy || (queue.messages.length + queue.adding.length > 0 && !queue.paused && !failed);
  const submit = (text: string, files: readonly AttachedFile[]) => {
    const message = { id: newId(), text: text || '(attachment)', files };
    if (waits) queue.add(message);
    else send({ ...message, text });
  };
  const deliver: Deliver = async ({ id, text }) => {
    if (waits) await client.queueMessage(taskId, { messageId: id, message: text, attachments: [] });
    // The browser keeps it until history has it.
    else send({ id, text, files: [] });
  };
  const retry = (lastRow: Message | undefined, pendingId: string | undefined, force: boolean) => {
    if (lastSent.current && lastSent.current.id === (pendingId ?? lastRow?.id)) {
      send({ ...lastSent.current, force });
      return;
    }
    const message = readUnsent(taskId) ?? (lastRow && { id: lastRow.id, text: lastRow.message });
    if (message) send({ ...withoutFiles(message, lastRow), files: [], force });
  };
  return { queue, sent, submit, deliver, retry };
}

/** The message as one that can be sent without its files, which another page had. */
function withoutFiles(message: { id: string; text: string }, stored: Message | undefined) {
  const lost = stored?.id === message.id ? keptFiles(stored.artifacts) : [];
  if (lost.length === 0) return message;
  toast(`Sent without ${lost.map((f) => f.name).join(', ')}: attach the files again`);
  return { ...message, id: newId() };
}
