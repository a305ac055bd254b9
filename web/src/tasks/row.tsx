import { Link } from '@tanstack/react-router';
import { memo, useEffect, useState, type Dispatch, type SetStateAction } from 'react';
import type { Task } from '../app/types.ts';
import { Badge } from '../ui/badge.tsx';
import { isComposing } from '../ui/composing.ts';
import { Menu } from '../ui/menu.tsx';
import { toast } from '../ui/toast.tsx';
import { Ago } from '../ui/time.tsx';
import { cx } from '../ui/class.ts';
import { useUpdateTask } from './api.ts';
import type { Held } from './groups.ts';
import { isUnread, type Status } from './status.ts';
import styles from './row.module.css';

interface Props {
  task: Task;
  status: Status;
  group: string;
  onDelete: (task: Task) => void;
  onHold: Dispatch<SetStateAction<Held | null>>;
}

export const TaskRow = memo(function TaskRow({ task, status, group, onDelete, onHold }: Props) {
  const [renaming, setRenaming] = useState(false);
  const [choosing, setChoosing] = useState(false);
  const update = useUpdateTask();
  const unread = isUnread(task);
  const inUse = renaming || choosing;
  useEffect(() => {
    if (!inUse) return;
    onHold({ id: task.id, label: group });
    return () => onHold((held) => (held?.id === task.id ? null : held));
  }, [inUse, task.id, group, onHold]);

  const beginRename = () => {
    setChoosing(false); // the menu goes with its event
    setRenaming(true);
  };
  const rename = (title: string) => {
    setRenaming(false);
    const wanted = title.trim();
    if (wanted && wanted !== task.title) update.mutate({ id: task.id, title: wanted });
  };
  const archive = () => {
    update.mutate({ id: task.id, archived: !task.archived });
    toast(task.archived ? 'Moved back to your tasks' : 'Archived', {
      label: 'Undo',
      run: () => update.mutate({ id: task.id, archived: task.archived }),
    });
  };

  if (renaming) {
    return (
      <li className={styles.row}>
        <input
          className={styles.rename}
          aria-label="New title"
          defaultValue={task.title}
          autoFocus
          onFocus={(e) => e.target.select()}
          onBlur={(e) => rename(e.target.value)}
          onKeyDown={(e) => {
            if (isComposing(e)) return;
            if (e.key === 'Enter') rename(e.currentTarget.value);
            if (e.key === 'Escape') setRenaming(false);
          }}
        />
      </li>
    );
  }
  return (
    <li className={styles.row}>
      <Link
        to="/tasks/$taskId"
        params={{ taskId: task.id }}
        className={cx(styles.link, unread && styles.unread)}
        data-task-link
        activeProps={{ 'aria-current': 'page' }}
      >
        <span className={styles.title} dir="auto">
          {unread && (
            <span className={styles.dot}>
              <span className="visually-hidden">Unread: </span>
            </span>
          )}
          {task.title}
        </span>
        <span className={styles.meta}>
          <Badge tone={status.tone} {...(status.icon && { icon: status.icon })}>
            {status.label}
          </Badge>
          <span className={styles.agent}>{[task.agent, task.project].filter(Boolean).join(' · ')}</span>
          <Ago at={task.lastActivityAt} />
        </span>
      </Link>
      <div className={styles.menu}>
        <Menu
          label={`Actions for ${task.title}`}
          onToggle={setChoosing}
          items={[
            { label: 'Rename', icon: 'edit', run: beginRename },
            { label: task.archived ? 'Unarchive' : 'Archive', icon: 'archive', run: archive },
            { label: 'Delete', icon: 'trash', danger: true, run: () => onDelete(task) },
          ]}
        />
      </div>
    </li>
  );
});
