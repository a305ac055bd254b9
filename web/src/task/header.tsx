import { Link } from '@tanstack/react-router';
import type { Task } from '../app/types.ts';
import { useTotals } from '../ship/totals.ts';
import { TaskMode } from '../tasks/mode.tsx';
import { TaskModel, useHostName } from '../tasks/model.tsx';
import { statusOf } from '../tasks/status.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { useTaskWorkspace } from '../workspaces/api.ts';
import styles from './page.module.css';
import { TaskMenu } from './restart.tsx';
import { contextOf, costOf, readUsage } from './usage.ts';

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
  const usage = readUsage(task.lastTurn?.usage);
  const totals = useTotals(task);
  const where = [task.agent, task.project, start, host, branch, totals, costOf(usage), contextOf(usage)];
  return (
    <header className={styles.header}>
      <Link to="/" className={styles.back} aria-label="Back to tasks">
        <Icon name="back" />
      </Link>
      <div className={styles.titles}>
        <h1 dir="auto" title={task.title}>
          {task.title}
        </h1>
        <span className={styles.where}>{where.filter(Boolean).join(' · ')}</span>
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
