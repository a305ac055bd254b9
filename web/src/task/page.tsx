import { useNavigate, useParams, useRouter, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, useRef, useState, type ReactNode } from 'react';
import { useTitle } from '../inbox/attention.ts';
import { useOfflineHosts } from '../hosts/api.ts';
import { useTask } from '../tasks/api.ts';
import { Failure } from '../ui/failure.tsx';
import { Loading } from '../ui/page.tsx';
import { useTaskWorkspace } from '../workspaces/api.ts';
import { TaskHeader } from './header.tsx';
import type { WorkspaceFile } from './tool/file.ts';
import { FileLinksContext, type FileLinks } from './tool/links.ts';
import { TaskView } from './view.tsx';
import type { Diff, Task } from '../app/types.ts';
import type { Deliver } from './composer/outbox.ts';
import styles from './page.module.css';

const TerminalPanel = lazy(() => import('../terminal/panel.tsx'));
const FilesPanel = lazy(() => import('../files/panel.tsx'));
const DiffPanel = lazy(() => import('../diff/panel.tsx'));

/** A task's page keeps nothing of the task that was shown before. */
export function TaskPage() {
  const { taskId } = useParams({ from: '/tasks/$taskId' });
  return <OneTask key={taskId} taskId={taskId} />;
}

/** The pane beside the conversation, which is in the address. */
function usePane(taskId: string) {
  const search = useSearch({ from: '/tasks/$taskId' });
  const navigate = useNavigate();
  const show = (pane: typeof search) =>
    void navigate({ to: '/tasks/$taskId', params: { taskId }, search: pane, replace: true });
  const showFiles: ShowFiles = (open, file = '', line) =>
    show(open ? { files: true, ...(file && { file }), ...(line && { line }) } : {});
  return {
    search,
    showDiff: (open: boolean) => show(open ? { diff: true } : {}),
    showFiles,
    showTerminal: (open: boolean) => show(open ? { terminal: true } : {}),
  };
}

function OneTask({ taskId }: { taskId: string }) {
  const { search, showDiff, showFiles, showTerminal } = usePane(taskId);
  const task = useTask(taskId);
  const offline = useOfflineHosts();
  const [chosen, setChosen] = useState<Diff | null>(null);
  const [commits, setCommits] = useState(0); // how often the form of a commit was asked for
  const deliver = useRef<Deliver>(undefined);
  const stop = useRef<() => Promise<void>>(undefined);
  useTitle(task.data?.title ?? '');

  if (!task.data) {
    return (
      <main className={styles.alone}>
        {task.error ? (
          <Failure what="The task could not be loaded" error={task.error} retry={() => void task.refetch()} />
        ) : (
          <Loading what="the task" />
        )}
      </main>
    );
  }
  return (
    <main className={styles.page} data-diff={search.diff || search.files || search.terminal || undefined}>
      <div className={styles.task}>
        <TaskHeader
          task={task.data}
          offline={offline}
          diffOpen={search.diff === true}
          filesOpen={search.files === true}
          onFiles={() => showFiles(!search.files)}
          terminalOpen={search.terminal === true}
          onTerminal={() => showTerminal(!search.terminal)}
          onDiff={() => {
            setCommits(0);
            setChosen(null);
            showDiff(!search.diff);
          }}
          onCommit={() => {
            setCommits((n) => n + 1);
            setChosen(null);
            showDiff(true);
          }}
          onStop={() => stop.current?.() ?? Promise.reject(new Error('The task is not loaded yet'))}
        />
        <LinkedFiles task={task.data}>
          <TaskView
            task={task.data}
            deliver={deliver}
            stop={stop}
            onDiff={(diff) => {
              setChosen(diff);
              showDiff(true);
            }}
          />
        </LinkedFiles>
      </div>
      {search.terminal && (
        <Suspense fallback={<Loading what="the terminal" />}>
          <TerminalPanel task={task.data} onClose={() => showTerminal(false)} />
        </Suspense>
      )}
      {search.files && <Files task={task.data} path={search.file ?? ''} line={search.line} show={showFiles} />}
      {search.diff && (
        <Suspense fallback={<Loading what="the changes" />}>
          <DiffPanel
            task={task.data}
            chosen={chosen}
            commits={commits}
            onSend={(message) => deliver.current?.(message) ?? Promise.reject(new Error('The task is not loaded yet'))}
            onClose={() => showDiff(false)}
          />
        </Suspense>
      )}
    </main>
  );
}

/** Lets the tool calls in it link to the files of the task's workspace. A basic host shows no files. */
function LinkedFiles({ task, children }: { task: Task; children: ReactNode }) {
  const router = useRouter();
  const dir = useTaskWorkspace(task)?.dir ?? '';
  const links = useMemo<FileLinks>(() => {
    const to = ({ path, line }: WorkspaceFile) => ({
      to: '/tasks/$taskId' as const,
      params: { taskId: task.id },
      search: { files: true, file: path, ...(line !== undefined && { line }) },
    });
    return {
      dir,
      href: (file) => router.history.createHref(router.buildLocation(to(file)).href),
      open: (file) => void router.navigate({ ...to(file), replace: true }),
    };
  }, [router, task.id, dir]);
  return <FileLinksContext value={task.basicHost ? null : links}>{children}</FileLinksContext>;
}

/** Shows a file, or the directories for ''. */
type ShowFiles = (open: boolean, file?: string, line?: number) => void;

function Files({ task, path, line, show }: { task: Task; path: string; line: number | undefined; show: ShowFiles }) {
  return (
    <Suspense fallback={<Loading what="the files" />}>
      <FilesPanel
        task={task}
        path={path}
        line={line}
        onOpen={(file, at) => show(true, file, at)}
        onClose={() => show(false)}
      />
    </Suspense>
  );
}
