import { useLayoutEffect, useRef, type ReactNode } from 'react';
import type { Diff, Task } from '../../app/types.ts';
import { useIsScripted } from '../../tasks/model.tsx';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Icon } from '../../ui/icon.tsx';
import type { HistoryState } from '../history.ts';
import type { ShownTurn } from './merge.ts';
import { useStick } from './stick.ts';
import { TurnView } from './turn.tsx';
import styles from './thread.module.css';

interface Props {
  task: Task;
  turns: readonly ShownTurn[];
  runningTurn: string;
  history: HistoryState;
  onOlder: () => Promise<void>;
  onReload: () => void;
  onDiff: (diff: Diff) => void;
  /** Sends a text as a new message. It must be the same function at each rendering. */
  onRetry: (text: string) => void;
  failure: ReactNode;
  /** Changes when the user has sent a message: the thread then scrolls to its end. */
  sent: number;
}

export function Thread({
  task,
  turns,
  runningTurn,
  history,
  onOlder,
  onReload,
  onDiff,
  onRetry,
  failure,
  sent,
}: Props) {
  const { scroll, content, away, toEnd, element } = useStick();
  const isScripted = useIsScripted(task);
  const seen = useRef(sent);
  useLayoutEffect(() => {
    if (seen.current === sent) return;
    seen.current = sent;
    toEnd();
  }, [sent, toEnd]);

  const older = async () => {
    const box = element();
    const before = box ? box.scrollHeight - box.scrollTop : 0;
    await onOlder();
    // Older rows were inserted above: keep the rows in view where they were.
    requestAnimationFrame(() => {
      if (box) box.scrollTop = box.scrollHeight - before;
    });
  };
  return (
    <div className={styles.frame}>
      <div
        ref={scroll}
        className={styles.scroll}
        role="log"
        aria-label="Conversation"
        aria-live="polite"
        aria-relevant="additions"
        tabIndex={0}
      >
        <div ref={content} className={styles.column}>
          {history.more && (
            <Button small kind="quiet" className={styles.older} disabled={history.loading} onClick={() => void older()}>
              {history.loading ? 'Loading …' : 'Show earlier messages'}
            </Button>
          )}
          {history.error !== undefined && (
            <Failure what="The messages could not be loaded" error={history.error} retry={onReload} />
          )}
          {history.loading && turns.length === 0 && (
            <p className={styles.empty} role="status">
              Loading the conversation …
            </p>
          )}
          {!history.loading && history.error === undefined && turns.length === 0 && (
            <p className={styles.empty}>There are no messages yet. Write the first one below.</p>
          )}
          {turns.map((t, i) => {
            const last = i === turns.length - 1;
            return (
              <TurnView
                key={t.user?.id ?? t.turnId}
                user={t.user}
                group={t.group}
                live={t.live}
                questions={history.questions.get(t.turnId)}
                ending={t.turnId === task.openTurn ? undefined : history.endings.get(t.turnId)}
                onDiff={onDiff}
                isScripted={isScripted}
                onRetry={last && !task.openTurn && !runningTurn ? onRetry : undefined}
                running={t.turnId === runningTurn || (last && runningTurn === 'pending')}
                failure={last ? failure : undefined}
              />
            );
          })}
        </div>
      </div>
      {away && (
        <Button small className={styles.jump} onClick={toEnd}>
          <Icon name="down" size={13} />
          Jump to latest
        </Button>
      )}
    </div>
  );
}
