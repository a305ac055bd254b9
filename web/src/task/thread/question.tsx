import type { Interaction } from '../../app/types.ts';
import { Icon } from '../../ui/icon.tsx';
import { outcomeOf, type Outcome } from './outcome.ts';
import styles from './question.module.css';

const icons = { allowed: 'check', denied: 'close', answered: 'check', unanswered: 'warn' } as const;

/** What became of a question: who answered, and their words. Nothing while it is open, because the dock shows it. */
export function OutcomeLine({ question }: { question: Interaction }) {
  const outcome = outcomeOf(question);
  return outcome && <Line outcome={outcome} />;
}

function Line({ outcome: { kind, label, words } }: { outcome: Outcome }) {
  return (
    <p className={styles.outcome} data-outcome={kind}>
      <Icon name={icons[kind]} size={12} /> {label}
      {words && (
        <>
          {': '}
          <q dir="auto">{words}</q>
        </>
      )}
    </p>
  );
}

/** A question of the agent, with what became of it. */
export function QuestionView({ question }: { question: Interaction }) {
  const outcome = outcomeOf(question);
  if (!outcome) return null;
  return (
    <section className={styles.question} aria-label="A question of the agent">
      <p dir="auto">{question.prompt}</p>
      <Line outcome={outcome} />
    </section>
  );
}
