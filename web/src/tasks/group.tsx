import { useId, type Dispatch, type SetStateAction } from 'react';
import type { Task } from '../app/types.ts';
import { toast } from '../ui/toast.tsx';
import { Menu } from '../ui/menu.tsx';
import { useUpdateTask } from './api.ts';
import type { Held, TaskGroup } from './groups.ts';
import { TaskRow } from './row.tsx';
import styles from './list.module.css';

/** Tasks under a heading with their number. `more` says that older ones are not loaded. */
export function Group({
  group: { label, tasks, ended },
  more,
  onDelete,
  onHold,
}: {
  group: TaskGroup;
  more: boolean;
  onDelete: (task: Task) => void;
  onHold: Dispatch<SetStateAction<Held | null>>;
}) {
  const id = useId();
  const update = useUpdateTask();
  const archive = (archived: boolean) => {
    for (const task of ended) update.mutate({ id: task.id, archived });
  };
  const archiveAll = () => {
    archive(true);
    toast(`${ended.length} tasks archived`, { label: 'Undo', run: () => archive(false) });
  };
  return (
    <section className={styles.group} aria-labelledby={id}>
      <header>
        <h2 id={id}>
          {label}{' '}
          <span>
            {tasks.length}
            {more && '+'}
          </span>
        </h2>
        {ended.length > 1 && (
          <Menu
            label={`Actions for ${label}`}
            items={[{ label: `Archive ${ended.length} ended tasks`, icon: 'archive', run: archiveAll }]}
          />
        )}
      </header>
      <ul className={styles.list}>
        {tasks.map(({ task, status }) => (
          <TaskRow key={task.id} task={task} status={status} group={label} onDelete={onDelete} onHold={onHold} />
        ))}
      </ul>
    </section>
  );
}
