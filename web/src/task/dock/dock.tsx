import { BellhopError } from '@bellhop/client';
import { useRef, useState } from 'react';
import type { Answer, Interaction } from '../../app/types.ts';
import { useAnswer } from '../../inbox/api.ts';
import { Failure } from '../../ui/failure.tsx';
import { Ask } from './ask.tsx';
import { Permission } from './permission.tsx';
import styles from './dock.module.css';

/** Whether a host got an answer that cannot be given to the agent. The question stays open for another answer. */
const isRefused = (error: Error) => error instanceof BellhopError && error.status === 400;

/** The open questions of a task, one at a time, above the composer. It never takes the focus. */
export function Dock({
  interactions,
  keys = true,
  composer,
}: {
  interactions: readonly Interaction[];
  /** Whether keyboard shortcuts answer the question while it is in view. */
  keys?: boolean;
  /** The mutation with which the page's composer answers questions. The dock uses it too, and shows its failures. */
  composer?: ReturnType<typeof useAnswer>;
}) {
  const own = useAnswer();
  const answer = composer ?? own;
  const dock = useRef<HTMLElement>(null);
  const [settled, setSettled] = useState<ReadonlySet<string>>(new Set());
  const open = interactions.filter((i) => !settled.has(i.id));
  const current = open[0];
  if (!current) return null;

  const send = (given: Answer) => {
    if (answer.isPending) return;
    answer.mutate(
      { id: current.id, ...given },
      {
        onSuccess: () => {
          // The button disappears with its question. Without this the focus would be lost.
          if (dock.current?.contains(document.activeElement))
            document.querySelector<HTMLElement>('[data-composer]')?.focus();
          setSettled((ids) => new Set([...ids, current.id]));
        },
        onError: (error) => {
          // The question was answered elsewhere or has expired; either way it is no longer open.
          if (error instanceof BellhopError && (error.status === 409 || error.status === 410))
            setSettled((ids) => new Set([...ids, current.id]));
        },
      },
    );
  };
  const failed = answer.error && answer.variables?.id === current.id ? answer.error : null;
  const props = { interaction: current, count: open.length, pending: answer.isPending, onAnswer: send };
  return (
    <section
      ref={dock}
      className={styles.dock}
      aria-label="The agent asks you"
      data-level={current.level?.toLowerCase()}
    >
      {current.kind === 'ask' ? (
        <Ask key={current.id} {...props} form={!composer} />
      ) : (
        <Permission key={current.id} {...props} keys={keys} />
      )}
      {failed && (
        <Failure
          what={isRefused(failed) ? 'Your answer was not taken' : 'Your answer did not arrive'}
          error={failed}
          retry={isRefused(failed) ? undefined : () => answer.variables && answer.mutate(answer.variables)}
        />
      )}
    </section>
  );
}
