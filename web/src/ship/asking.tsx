import { useEffect, useState, useSyncExternalStore } from 'react';
import type { Task } from '../app/types.ts';
import type { SendReview } from '../diff/send.tsx';
import { historyOf } from '../task/history.ts';
import { newId } from '../task/id.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { answerTo, cleanDraft, useRows } from './draft.ts';
import styles from './ship.module.css';

interface Options {
  task: Task;
  onSend: SendReview;
  /** What the agent is asked. */
  prompt: string;
  /** What the form has now. */
  present: string;
  /** Puts a draft into the form. */
  onDraft: (text: string) => void;
}

/**
 * Asks the agent for a draft, and hands it over when the turn has ended. If the user wrote something meanwhile, the
 * draft waits until it is taken. A turn that failed changes nothing.
 */
export function useDraft({ task, onSend, prompt, present, onDraft }: Options) {
  const [asked, setAsked] = useState({ id: '', present: '' });
  const [kept, setKept] = useState('');
  const [note, setNote] = useState('');
  const [error, setError] = useState<unknown>();
  const rows = useRows(task.id);
  const history = historyOf(task.id);
  // The page may know that the turn has ended before it has the turn's last text.
  const isComplete = useSyncExternalStore(history.subscribe, () => history.isAt(task.rev));
  const answer = isComplete ? answerTo(rows, asked.id, task) : undefined;
  useEffect(() => {
    if (answer === undefined) return;
    const text = cleanDraft(answer);
    setAsked({ id: '', present: '' });
    setNote(text === '' ? 'The agent gave no draft' : '');
    if (text !== '' && present === asked.present) onDraft(text);
    else setKept(text);
  }, [answer, asked.present, present, onDraft]);
  const ask = () => {
    const id = newId();
    setAsked({ id, present });
    setKept('');
    setNote('');
    setError(undefined);
    onSend({ id, text: prompt }).catch((reason: unknown) => {
      setAsked({ id: '', present: '' });
      setError(reason);
    });
  };
  const take = () => {
    onDraft(kept);
    setKept('');
  };
  return { ask, take, waiting: asked.id !== '', kept: kept !== '', note, error };
}

interface Props {
  draft: ReturnType<typeof useDraft>;
  task: Task;
  label: string;
}

/** The button that asks the agent for a draft, and what became of it. */
export function AskForDraft({ draft, task, label }: Props) {
  const state = draft.waiting
    ? 'The agent writes a draft …'
    : draft.kept
      ? 'The agent has written a draft. Your text stays unless you take it.'
      : task.openTurn !== null
        ? 'The agent works on a message'
        : draft.note;
  return (
    <>
      <Button small kind="quiet" disabled={draft.waiting} onClick={draft.ask}>
        {label}
      </Button>
      <span className={styles.state} role="status">
        {state}
      </span>
      {draft.kept && (
        <Button small kind="quiet" onClick={draft.take}>
          Take the draft
        </Button>
      )}
    </>
  );
}

/** Why the agent was not asked. */
export function DraftFailure({ draft }: { draft: ReturnType<typeof useDraft> }) {
  return draft.error === undefined ? null : <Failure what="The agent was not asked" error={draft.error} />;
}
