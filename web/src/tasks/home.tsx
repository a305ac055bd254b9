import { Link } from '@tanstack/react-router';
import { useOpenInteractions } from '../inbox/api.ts';
import { useTitle } from '../inbox/attention.ts';
import { Bell } from '../ui/icon.tsx';
import { NewTaskForm } from './form.tsx';
import { useTasks } from './api.ts';
import styles from './home.module.css';

export function Home() {
  useTitle('');
  const waiting = useOpenInteractions().data ?? [];
  const hasNoTask = useTasks('', false).data?.pages[0]?.tasks.length === 0;
  const oldest = waiting[0];
  return (
    <main className={styles.home}>
      <div className={styles.column}>
        <Bell className={styles.mark} />
        <h1>{hasNoTask ? 'Start your first task' : 'What is next?'}</h1>
        <p className={styles.lead}>
          {hasNoTask
            ? 'Say what you want done. An agent does it on its host, asks you before anything risky, and every step is kept here.'
            : 'Describe the work; the agent starts at once.'}
        </p>
        {oldest && (
          <p className={styles.waiting}>
            {waiting.length === 1 ? 'One question waits for you' : `${waiting.length} questions wait for you`}:{' '}
            <Link to="/tasks/$taskId" params={{ taskId: oldest.taskId }}>
              {oldest.taskTitle || 'the oldest'}
            </Link>
          </p>
        )}
        <NewTaskForm />
        {hasNoTask && (
          <p className={styles.try}>
            With the demo agent, try <code>help</code>, <code>list</code> or <code>write notes.md: hello</code>.
          </p>
        )}
      </div>
    </main>
  );
}
