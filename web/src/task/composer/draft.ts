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
