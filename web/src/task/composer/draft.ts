import { readSetting, writeSetting } from '../../settings/store.ts';

/** What somebody has typed and not sent, per task; it outlives reloads, sign-outs and crashes. */
export const readDraft = (key: string) => readSetting(`draft.${key}`) ?? '';

export const saveDraft = (key: string, text: string) => writeSetting(`draft.${key}`, text === '' ? null : text);

/** The message a new task begins with: kept until it was sent, so that neither a reload nor a failure loses it. */
export const saveFirstMessage = (taskId: string, text: string) => writeSetting(`first.${taskId}`, text);

export function takeFirstMessage(taskId: string): string | null {
  const text = readSetting(`first.${taskId}`);
  if (text !== null) writeSetting(`first.${taskId}`, null);
  return text;
}

/** A message that was sent and is not in history yet. */
export interface Unsent {
  id: string;
  text: string;
}

/** Until history has a message, this browser keeps it: a refused one is in no other place. */
export const saveUnsent = (taskId: string, message: Unsent | null) => writeSetting(`unsent.${taskId}`, message && JSON.stringify({ id: message.id, text: message.text }));

export function readUnsent(taskId: string): Unsent | null {
  try {
    const stored: unknown = JSON.parse(readSetting(`unsent.${taskId}`) ?? 'null');
    return typeof stored === 'object' && stored !== null && 'id' in stored && 'text' in stored ? { id: String(stored.id), text: String(stored.text) } : null;
  } catch {
    return null;
  }
}
