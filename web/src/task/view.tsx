import { BellhopError } from '@bellhop/client';
import type { UIMessage } from 'ai';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Diff, Task } from '../app/types.ts';
import { isTyping } from '../app/shortcuts.ts';
import { describe } from '../app/http.ts';
import { useOpenInteractions } from '../inbox/api.ts';
import { useMarkRead } from '../tasks/api.ts';
import { isUnread } from '../tasks/status.ts';
import { Failure } from '../ui/failure.tsx';
import { toast } from '../ui/toast.tsx';
import { Activity, ReconnectBanner, verbOf } from './activity.tsx';
import { Composer } from './composer/composer.tsx';
import { readUnsent, saveUnsent, takeFirstMessage } from './composer/draft.ts';
import { queueOf, useQueue, type ImageFile, type Queued } from './composer/queue.ts';
import { QueuedMessages } from './composer/queued.tsx';
import { Dock } from './dock/dock.tsx';
import { useHistory, useVisible } from './feed.ts';
import type { HistoryState } from './history.ts';
import { newId } from './id.ts';
import { useLiveChat } from './live/chat.ts';
import { groupRows, mergeTurns, type RowGroup } from './thread/merge.ts';
import { Thread } from './thread/thread.tsx';
import styles from './page.module.css';

/** A conversation with an agent: history, live stream, questions and composer of one task. */
export function TaskView({ task, onDiff }: { task: Task; onDiff: (diff: Diff) => void }) {
  const visible = useVisible();
  const { history, state, connected } = useHistory(task.id);
  const chat = useLiveChat(task.id, task, visible);
  const interactions = (useOpenInteractions().data ?? []).filter((i) => i.taskId === task.id);
  const queue = queueOf(task.id);
  const queued = useQueue(queue);
  const [sent, setSent] = useState(0);
  const [stopping, setStopping] = useState(false);
  const lastSent = useRef<Queued>(undefined);

  const streaming = chat.status === 'submitted' || chat.status === 'streaming';
  const busy = streaming || task.openTurn !== '';
  const groups = useGroups(state.rows);
  const stranded = useStranded(task.id, state, chat.pending);
  const failed = (chat.status === 'error' && !busy && notDelivered(chat.error)) || stranded !== undefined;
  const pending = stranded ?? chat.pending;
  const turns = useMemo(() => mergeTurns(groups, chat.live, pending, failed), [groups, chat.live, pending, failed]);
  const current = [...chat.live.keys()].at(-1) ?? '';
  const runningTurn = task.openTurn || (streaming ? (chat.status === 'streaming' ? current : 'pending') : '');

  const { send: post } = chat;
  const send = useCallback((message: Queued) => {
    lastSent.current = message;
    saveUnsent(task.id, message);
    setSent((n) => n + 1);
    post(message);
  }, [post, task.id]);
  const submit = (text: string, files: readonly ImageFile[]) => {
    const message = { id: newId(), text, files };
    if (busy || (queued.length > 0 && !failed)) queue.add(message);
    else send(message);
  };

  const ready = state.rev !== undefined;
  useEffect(() => {
    const unsent = readUnsent(task.id);
    if (unsent && state.rows.some((r) => r.id === unsent.id)) saveUnsent(task.id, null);
  }, [task.id, state.rows]);
  useEffect(() => {
    if (busy || !ready || failed) return;
    const first = takeFirstMessage(task.id);
    if (first) return send({ id: newId(), text: first, files: [] });
    const next = queue.shift();
    if (next) send(next);
  }, [busy, ready, failed, task.id, queue, queued, send]);

  const stop = () => {
    if (!busy || stopping) return;
    setStopping(true);
    chat.stop().catch((error: unknown) => toast(`Not stopped: ${describe(error).message}`)).finally(() => setStopping(false));
  };
  useEscape(busy, stop);
  useReadMark(task, visible, busy && interactions.length === 0);

  const lastRow = state.rows.findLast((r) => r.role === 'USER');
  const undelivered = !busy && lastRow?.status === 'ERROR' && turns.at(-1)?.user?.id === lastRow.id;
  const retry = () => {
    const message = lastSent.current && lastSent.current.id === (chat.pending?.id ?? lastRow?.id) ? lastSent.current : (readUnsent(task.id) ?? (lastRow && { id: lastRow.id, text: lastRow.message }));
    if (message) send({ files: [], ...message });
  };
  const failure = failed || undelivered ? (
    <Failure what={chat.error ? 'The agent was not reached' : 'This message did not reach its agent host'} error={chat.error ?? new Error('It is kept here and can be sent again')} retry={retry} />
  ) : undefined;
  // The turn runs and nothing streams it: the client is still trying to attach.
  const unattached = task.openTurn !== '' && chat.status !== 'streaming' && chat.connection.state !== 'streaming';
  const since = useTurnStart(busy, lastRow?.createdAt);
  return (
    <>
      <Thread
        task={task} turns={turns} runningTurn={runningTurn} history={state} failure={failure} sent={sent} onDiff={onDiff}
        onOlder={() => history.loadOlder()} onReload={() => void history.load()}
      />
      <div className={styles.foot}>
        <ReconnectBanner
          lost={(chat.connection.lostAt !== undefined && streaming) || chat.failing !== undefined || unattached || !connected}
          what={connected ? 'The connection to the agent host' : 'The connection to the broker'}
          where={chat.failing && describe(chat.failing).where} onRetry={chat.failing && chat.resume}
        />
        {busy && (
          <Activity
            verb={verbOf({ submitted: chat.status === 'submitted', waiting: interactions.length > 0, connection: chat.connection.state, message: chat.live.get(runningTurn) })}
            since={since} relay={chat.connection.reach === 'relay'} stopping={stopping} onStop={stop}
          />
        )}
        <Dock interactions={interactions} />
        <QueuedMessages queue={queue} />
        <Composer taskId={task.id} busy={busy} lastMessage={lastRow?.message ?? ''} onSend={submit} />
      </div>
    </>
  );
}

/** A message of an earlier visit that never arrived; this page has not tried to send it. */
function useStranded(taskId: string, { rows, rev }: HistoryState, tried: UIMessage | undefined): UIMessage | undefined {
  return useMemo(() => {
    const unsent = rev === undefined || tried ? null : readUnsent(taskId);
    if (!unsent || rows.some((r) => r.id === unsent.id)) return undefined;
    return { id: unsent.id, role: 'user', parts: [{ type: 'text', text: unsent.text }] };
  }, [taskId, rows, rev, tried]);
}

/** A refusal or a dead network; anything else is how the turn itself ended, and the thread says so. */
const notDelivered = (error: Error | undefined) => error instanceof BellhopError || error instanceof TypeError;

function useGroups(rows: Parameters<typeof groupRows>[0]): readonly RowGroup[] {
  const before = useRef<readonly RowGroup[]>([]);
  return useMemo(() => (before.current = groupRows(rows, before.current)), [rows]);
}

/** Esc stops the agent, unless it has something nearer to close. */
function useEscape(active: boolean, stop: () => void) {
  const latest = useRef(stop);
  latest.current = stop;
  useEffect(() => {
    if (!active) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || event.isComposing || document.querySelector('dialog[open], :popover-open')) return;
      const field = event.target instanceof HTMLElement ? event.target : null;
      // In other fields Esc belongs to the field.
      if (isTyping(field) && field?.getAttribute('aria-label') !== 'Message') return;
      latest.current();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [active]);
}

/** Marks the task as read while it is looked at. */
function useReadMark(task: Task, visible: boolean, busy: boolean) {
  const mark = useMarkRead();
  const unread = isUnread(task);
  useEffect(() => {
    if (!visible || busy || !unread) return;
    const timer = setTimeout(() => mark(task.id, task.rev), 600);
    return () => clearTimeout(timer);
  }, [visible, busy, unread, task.id, task.rev, mark]);
}

/** When the running turn began: when its message was sent, or when this page learned of it. */
function useTurnStart(busy: boolean, at: string | undefined): number {
  const began = useRef(0);
  if (!busy) began.current = 0;
  else if (began.current === 0) began.current = Date.now();
  const stored = at ? Date.parse(at) : NaN;
  return busy && stored > began.current - 6 * 3_600_000 && stored < began.current ? stored : began.current || Date.now();
}
