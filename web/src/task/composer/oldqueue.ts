import { readDraft, saveDraft } from './draft.ts';
import type { Outgoing } from './queue.ts';

/**
 * Moves the messages that earlier versions of the page kept in the session's storage, once: they are added to the
 * broker's queue. Those of a paused queue become the draft, because nothing may send them without the user.
 */
export function moveOldQueue(taskId: string, add: (message: Outgoing) => void) {
  const key = `bellhop.queue.${taskId}`;
  let messages: Outgoing[] = [];
  let paused = false;
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(key) ?? '[]');
    paused = sessionStorage.getItem(`${key}.paused`) === 'true';
    sessionStorage.removeItem(key);
    sessionStorage.removeItem(`${key}.paused`);
    messages = Array.isArray(stored) ? stored.flatMap(outgoingOf) : [];
  } catch {
    return; // no storage, or nothing that the page wrote
  }
  if (!paused) for (const message of messages) add(message);
  else if (messages.length > 0)
    saveDraft(taskId, [readDraft(taskId), ...messages.map((m) => m.text)].filter(Boolean).join('\n\n'));
}

function outgoingOf(value: unknown): Outgoing[] {
  if (typeof value !== 'object' || value === null || !('id' in value) || !('text' in value)) return [];
  const { id, text } = value;
  return typeof id === 'string' && typeof text === 'string' && text.trim() ? [{ id, text, files: [] }] : [];
}
