import { useSyncExternalStore } from 'react';
import type { Message, Task } from '../app/types.ts';
import { historyOf } from '../task/history.ts';
import { endOf } from '../tasks/status.ts';

/** What the agent is asked when it shall draft a commit message. */
export const draftPrompt =
  'Please draft a commit message for the uncommitted changes in your directory. Answer with nothing but the message, ' +
  'which is a line of at most 72 characters, an empty line, and why. Change no file, and commit nothing.';

/** What the agent is asked when it shall draft the texts of a pull request into a branch, "" if none is known. */
export const requestPrompt = (base: string) =>
  `Please draft the title and the description of a pull request for the commits of your branch${
    base && ` that ${base} does not have`
  }. Answer with nothing but the texts: a title of at most 72 characters in the first line, an empty line, and then ` +
  'the description in Markdown, which says what the commits change and why. Change no file, and push nothing.';

/** Splits a draft into the title and the description of a pull request. Marks of a heading are not the title's. */
export function splitDraft(draft: string): { title: string; body: string } {
  const [first = '', ...rest] = draft.split('\n');
  const title = first.replace(/^(#+\s+|\*\*title:\*\*\s*|title:\s*)/i, '').trim();
  return { title: title.slice(0, 250), body: rest.join('\n').trim() };
}

/** The messages of a task that the page has loaded. */
export function useRows(taskId: string): readonly Message[] {
  const history = historyOf(taskId);
  return useSyncExternalStore(history.subscribe, () => history.state).rows;
}

/**
 * The agent's answer to a message: undefined while its turn runs, "" when it failed or ended without a text. The answer
 * is the last text of the turn.
 */
export function answerTo(rows: readonly Message[], messageId: string, task: Pick<Task, 'openTurn' | 'lastTurn'>) {
  const at = rows.findIndex((r) => r.id === messageId);
  const turn = rows[at]?.turnId;
  if (!turn || task.openTurn === turn) return undefined;
  const last = task.lastTurn?.id === turn ? task.lastTurn : null;
  // A queued message may have begun the next turn before the page saw the end of this one.
  if (!last && !rows.slice(at + 1).some((r) => r.role === 'USER' && r.turnId && r.turnId !== turn)) return undefined;
  if (last && endOf(last.finishReason, last.reason)) return '';
  return rows.findLast((r) => r.turnId === turn && r.role === 'ASSISTANT' && r.message.trim() !== '')?.message ?? '';
}

const fence = /^```[^\n]*\n([\s\S]*?)\n?```$/;

/** A draft without the fence that many models put around it. */
export function cleanDraft(answer: string): string {
  const text = answer.trim();
  return (fence.exec(text)?.[1] ?? text).trim();
}
