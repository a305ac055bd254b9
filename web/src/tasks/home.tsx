import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useRef } from 'react';
import { useOpenInteractions } from '../inbox/api.ts';
import { useTitle } from '../inbox/attention.ts';
import { Bell } from '../ui/icon.tsx';
import { NewTaskForm } from './form.tsx';
import { useTasks } from './api.ts';
import styles from './home.module.css';

const Checklist = lazy(() => import('../firststeps/checklist.tsx').then((m) => ({ default: m.Checklist })));

export function Home() {
  useTitle('');
  const waiting = useOpenInteractions().data ?? [];
  const hasNoTask = useTasks('', false).data?.pages[0]?.tasks.length === 0;
  const oldest = waiting[0];
  const form = useRef<HTMLDivElement>(null);
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
        <div ref={form}>
          <NewTaskForm hasExamples={hasNoTask} />
        </div>
        <Suspense>
          <Checklist onStart={() => form.current?.querySelector('textarea')?.focus()} />
        </Suspense>
      </div>
    </main>
  );
}
