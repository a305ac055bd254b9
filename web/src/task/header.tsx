import { Link } from '@tanstack/react-router';
import type { Task } from '../app/types.ts';
import { statusOf } from '../tasks/status.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import styles from './page.module.css';

export function TaskHeader({
  task,
  offline,
  diffOpen,
  onDiff,
}: {
  task: Task;
  offline: ReadonlySet<string>;
  diffOpen: boolean;
  onDiff: () => void;
}) {
  const status = statusOf(task, offline);
  const where = [task.agent, task.project].filter(Boolean).join(' · ');
  return (
    <header className={styles.header}>
      <Link to="/" className={styles.back} aria-label="Back to tasks">
        <Icon name="back" />
      </Link>
      <div className={styles.titles}>
        <h1 dir="auto" title={task.title}>
          {task.title}
        </h1>
        <span className={styles.where}>{[where, usageOf(task.lastTurn?.usage)].filter(Boolean).join(' · ')}</span>
      </div>
      <Badge tone={status.tone} {...(status.icon && { icon: status.icon })}>
        {status.label}
      </Badge>
      <Button small kind="quiet" aria-pressed={diffOpen} onClick={onDiff} aria-label="Changes">
        <Icon name="diff" />
        <span className={styles.word}>Changes</span>
      </Button>
    </header>
  );
}

/** The tokens that the last turn used; "" when the agent does not report them. */
export function usageOf(usage: unknown): string {
  if (typeof usage !== 'object' || usage === null) return '';
  const { inputTokens, outputTokens } = usage as { inputTokens?: unknown; outputTokens?: unknown };
  if (typeof inputTokens !== 'number' || typeof outputTokens !== 'number' || inputTokens + outputTokens === 0)
    return '';
  const short = (n: number) => (n < 1000 ? String(n) : `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)}k`);
  return `${short(inputTokens)} in, ${short(outputTokens)} out`;
}
