import { readSetting, writeSetting } from '../../settings/store.ts';

/** Text that was typed but not sent, per task. It survives reloads, sign-outs and crashes. */
export const readDraft = (key: string) => readSetting(`draft.${key}`) ?? '';

export const saveDraft = (key: string, text: string) => writeSetting(`draft.${key}`, text === '' ? null : text);

/** The first message of a new task. It is kept until it was sent, so that neither a reload nor a failure loses it. */
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

/** The browser keeps a message until history has it: a rejected one is stored nowhere else. */
export const saveUnsent = (taskId: string, message: Unsent | null) =>
  writeSetting(`unsent.${taskId}`, message && JSON.stringify({ id: message.id, text: message.text }));

export function readUnsent(taskId: string): Unsent | null {
  try {
    const stored: unknown = JSON.parse(readSetting(`unsent.${taskId}`) ?? 'null');
    return typeof stored === 'object' && stored !== null && 'id' in stored && 'text' in stored
      ? { id: String(stored.id), text: String(stored.text) }
      : null;
  } catch {
    return null;
  }
}
