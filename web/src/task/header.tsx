import { Link } from '@tanstack/react-router';
import type { Task } from '../app/types.ts';
import { statusOf } from '../tasks/status.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import styles from './page.module.css';

export function TaskHeader({ task, offline, diffOpen, onDiff }: { task: Task; offline: ReadonlySet<string>; diffOpen: boolean; onDiff: () => void }) {
  const status = statusOf(task, offline);
  const where = [task.agent, task.project].filter(Boolean).join(' · ');
  return (
    <header className={styles.header}>
      <Link to="/" className={styles.back} aria-label="Back to tasks"><Icon name="back" /></Link>
      <div className={styles.titles}>
        <h1 dir="auto" title={task.title}>{task.title}</h1>
        {where && <span className={styles.where}>{where}</span>}
      </div>
      <Badge tone={status.tone} {...(status.icon && { icon: status.icon })}>{status.label}</Badge>
      <Button small kind="quiet" aria-pressed={diffOpen} onClick={onDiff}><Icon name="diff" />Changes</Button>
    </header>
  );
}
