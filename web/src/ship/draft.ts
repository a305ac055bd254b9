import { useSyncExternalStore } from 'react';
import type { Message, Task } from '../app/types.ts';
import { historyOf } from '../task/history.ts';

/** What the agent is asked when it shall draft a commit message. */
export const draftPrompt =
  'Please draft a commit message for the uncommitted changes in your directory. Answer with nothing but the message, ' +
  'which is a line of at most 72 characters, an empty line, and why. Change no file, and commit nothing.';

/** The messages of a task that the page has loaded. */
export function useRows(taskId: string): readonly Message[] {
  const history = historyOf(taskId);
  return useSyncExternalStore(history.subscribe, () => history.state).rows;
}

/**
 * The agent's answer to a message: undefined while its turn runs, "" when it ended without a text. The answer is the
 * last text of the turn.
 */
export function answerTo(rows: readonly Message[], messageId: string, task: Pick<Task, 'openTurn' | 'lastTurn'>) {
  const turn = rows.find((r) => r.id === messageId)?.turnId;
  if (!turn || task.openTurn === turn || task.lastTurn?.id !== turn) return undefined;
  return rows.findLast((r) => r.turnId === turn && r.role === 'ASSISTANT' && r.message.trim() !== '')?.message ?? '';
}

const fence = /^```[^\n]*\n([\s\S]*?)\n?```$/;

/** A draft without the fence that many models put around it. */
export function cleanDraft(answer: string): string {
  const text = answer.trim();
  return (fence.exec(text)?.[1] ?? text).trim();
}
