import { Link } from '@tanstack/react-router';
import type { Task } from '../app/types.ts';
import { TaskMode } from '../tasks/mode.tsx';
import { TaskModel, useHostName } from '../tasks/model.tsx';
import { statusOf } from '../tasks/status.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { useTaskWorkspace } from '../workspaces/api.ts';
import styles from './page.module.css';
import { TaskMenu } from './restart.tsx';

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
  const host = useHostName(task);
  const workspace = useTaskWorkspace(task);
  const branch = workspace?.branch ? `${workspace.branch}${workspace.dirty ? ' (uncommitted changes)' : ''}` : '';
  const start = task.branch ? `from ${task.branch}` : '';
  const where = [task.agent, task.project, start, host, branch].filter(Boolean).join(' · ');
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
      <TaskModel task={task} />
      <TaskMode task={task} />
      <Button small kind="quiet" aria-pressed={diffOpen} onClick={onDiff} aria-label="Changes">
        <Icon name="diff" />
        <span className={styles.word}>Changes</span>
      </Button>
      <TaskMenu task={task} workspace={workspace} />
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
