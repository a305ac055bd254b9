import { BellhopError, isDiff } from '@bellhop/client';
import type { UIMessage } from 'ai';
import { useCallback, useEffect, useImperativeHandle, useMemo, useRef, type RefObject } from 'react';
import { describe } from '../app/http.ts';
import type { Diff, Task } from '../app/types.ts';
import { useDiff } from '../diff/query.ts';
import { useAnswer, useOpenInteractions } from '../inbox/api.ts';
import { useMarkRead } from '../tasks/api.ts';
import { isQuiet, isUnread } from '../tasks/status.ts';
import { Failure } from '../ui/failure.tsx';
import { Activity, ReconnectBanner, TurnNotices, verbOf } from './activity.tsx';
import { Composer } from './composer/composer.tsx';
import { readUnsent } from './composer/draft.ts';
import { useOutbox, type Deliver } from './composer/outbox.ts';
import { QueuedMessages } from './composer/queued.tsx';
import { Dock } from './dock/dock.tsx';
import { useHistory, useVisible } from './feed.ts';
import type { HistoryState } from './history.ts';
import { useLiveChat, type LiveChat } from './live/chat.ts';
import styles from './page.module.css';
import { useStop } from './stop.ts';
import { groupRows, mergeTurns, type RowGroup } from './thread/merge.ts';
import { Thread } from './thread/thread.tsx';

/** A conversation with an agent: history, live stream, questions and composer of one task. */
export function TaskView({
  task,
  deliver,
  stop,
  onDiff,
}: {
  task: Task;
  /** Is set to the function that sends a message that was not written in the composer. */
  deliver: RefObject<Deliver | undefined>;
  /** Is set to the function that stops the open turn. */
  stop: RefObject<(() => Promise<void>) | undefined>;
  onDiff: (diff: Diff) => void;
}) {
  const visible = useVisible();
  const { history, state, connected } = useHistory(task.id);
  const chat = useLiveChat(task.id, task, visible);
  const interactions = (useOpenInteractions().data ?? []).filter((i) => i.taskId === task.id);

  const streaming = chat.status === 'submitted' || chat.status === 'streaming';
  const busy = streaming || task.openTurn !== null;
  const unsent = useUnsent(task.id, state, chat.pending);
  const failed = (chat.status === 'error' && !busy && notDelivered(chat.error)) || unsent !== undefined;
  const groups = useGroups(state.rows);
  const pending = unsent ?? chat.pending;
  const turns = useMemo(() => mergeTurns(groups, chat.live, pending, failed), [groups, chat.live, pending, failed]);
  // A basic host does not say when its turn ends, so its next message does not wait for that.
  const blocked = streaming || (busy && !task.basicHost);
  const outbox = useOutbox(task, chat.send, state, { busy: blocked, failed });
  useImperativeHandle(deliver, () => outbox.deliver);
  useImperativeHandle(stop, () => chat.stop);
  const answer = useAnswer();
  const question = interactions[0]?.kind === 'ask' ? interactions[0] : undefined;
  const again = useLatest((text: string) => outbox.submit(text, []));
  useChanges(task, state, visible && !busy);
  useReadMark(task, visible, busy && interactions.length === 0);

  const current = [...chat.live.keys()].at(-1) ?? '';
  const runningTurn = task.openTurn || (streaming ? (chat.status === 'streaming' ? current : 'pending') : '');
  const lastRow = state.rows.findLast((r) => r.role === 'USER');
  const undelivered = !busy && lastRow?.status === 'ERROR' && turns.at(-1)?.user?.id === lastRow.id;
  const failure =
    failed || undelivered ? (
      <Failure
        what={whatFailed(chat.error)}
        error={chat.error ?? new Error('It is kept here and can be sent again')}
        label={isAttached(chat.error) ? 'Close it and send' : undefined}
        retry={() => outbox.retry(lastRow, chat.pending?.id, isAttached(chat.error))}
      />
    ) : undefined;
  return (
    <>
      <Thread
        task={task}
        turns={turns}
        runningTurn={runningTurn}
        history={state}
        failure={failure}
        sent={outbox.sent}
        onDiff={onDiff}
        onRetry={again}
        onOlder={() => history.loadOlder()}
        onReload={() => void history.load()}
      />
      <div className={styles.foot}>
        <Reconnecting task={task} chat={chat} connected={connected} />
        <TurnNotices notices={chat.notices} />
        <Progress
          {...{ chat, task, busy }}
          waiting={interactions.length > 0}
          message={chat.live.get(runningTurn)}
          sentAt={lastRow?.createdAt}
        />
        <Dock interactions={interactions} composer={answer} />
        <QueuedMessages queue={outbox.queue} />
        <Composer
          task={task}
          busy={blocked}
          lastMessage={lastRow?.message ?? ''}
          onSend={outbox.submit}
          question={question}
          onAnswer={(text) => question && answer.mutate({ id: question.id, text })}
        />
      </div>
    </>
  );
}

/** Names the lost connection: the one to the broker, or the one to the agent host. */
function Reconnecting({ task, chat, connected }: { task: Task; chat: LiveChat; connected: boolean }) {
  const streaming = chat.status === 'submitted' || chat.status === 'streaming';
  // The turn runs and nothing streams it: the client is still trying to attach.
  const unattached =
    task.openTurn !== null && !task.basicHost && chat.status !== 'streaming' && chat.connection.state !== 'streaming';
  const dropped = chat.connection.lostAt !== undefined && streaming;
  return (
    <ReconnectBanner
      lost={dropped || chat.failing !== undefined || unattached || !connected}
      what={connected ? 'The connection to the agent host' : 'The connection to the broker'}
      where={chat.failing && describe(chat.failing).where}
      onRetry={chat.failing && chat.resume}
    />
  );
}

interface ProgressProps {
  chat: LiveChat;
  task: Task;
  busy: boolean;
  /** A question is open. */
  waiting: boolean;
  /** The running turn's answer so far. */
  message: UIMessage | undefined;
  /** When the turn's message was sent. */
  sentAt: string | undefined;
}

function Progress({ chat, task, busy, waiting, message, sentAt }: ProgressProps) {
  const { stop, stopping } = useStop(busy, chat.stop);
  const since = useTurnStart(busy, sentAt);
  if (!busy) return null;
  const verb = verbOf({
    submitted: chat.status === 'submitted',
    waiting,
    quiet: isQuiet(task) && chat.status !== 'submitted' && chat.status !== 'streaming',
    connection: chat.connection.state,
    message,
  });
  return (
    <Activity verb={verb} since={since} relay={chat.connection.reach === 'relay'} stopping={stopping} onStop={stop} />
  );
}

/** A function that keeps its identity and calls the newest `fn`. */
function useLatest<A extends unknown[]>(fn: (...args: A) => void): (...args: A) => void {
  const latest = useRef(fn);
  latest.current = fn;
  return useCallback((...args: A) => latest.current(...args), []);
}

/** Has the changes of the last turn stored, unless they are: they then appear in the conversation. */
function useChanges(task: Task, { rows, rev }: HistoryState, idle: boolean) {
  const turn = task.lastTurn?.id ?? '';
  const known = rows.some((r) => r.turnId === turn && r.artifacts.some(isDiff));
  useDiff(task.id, turn, idle && rev !== undefined && turn !== '' && !task.basicHost && !known, Infinity);
}

/** An undelivered message of an earlier visit that this page has not tried to send yet. */
function useUnsent(taskId: string, { rows, rev }: HistoryState, tried: UIMessage | undefined): UIMessage | undefined {
  return useMemo(() => {
    const unsent = rev === undefined || tried ? null : readUnsent(taskId);
    if (!unsent || rows.some((r) => r.id === unsent.id)) return undefined;
    return { id: unsent.id, role: 'user', parts: [{ type: 'text', text: unsent.text }] };
  }, [taskId, rows, rev, tried]);
}

/** Whether the message was refused or the network failed. Other errors describe the end of the turn, which the
 * thread shows. */
const notDelivered = (error: Error | undefined) => error instanceof BellhopError || error instanceof TypeError;

/** Whether a terminal client works in the session, which the message can take over. */
const isAttached = (error: Error | undefined) => error instanceof BellhopError && error.code === 'attached';

function whatFailed(error: Error | undefined): string {
  if (isAttached(error)) return 'The agent works in a terminal';
  return error ? 'The agent was not reached' : 'This message did not reach its agent host';
}

function useGroups(rows: Parameters<typeof groupRows>[0]): readonly RowGroup[] {
  const before = useRef<readonly RowGroup[]>([]);
  return useMemo(() => {
    before.current = groupRows(rows, before.current);
    return before.current;
  }, [rows]);
}

/** Marks the task as read while it is visible. */
function useReadMark(task: Task, visible: boolean, busy: boolean) {
  const mark = useMarkRead();
  const unread = isUnread(task);
  useEffect(() => {
    if (!visible || busy || !unread) return;
    const timer = setTimeout(() => mark(task.id, task.rev), 600);
    return () => clearTimeout(timer);
  }, [visible, busy, unread, task.id, task.rev, mark]);
}

/** When the running turn began: when its message was sent, or else when this page first saw it. */
function useTurnStart(busy: boolean, at: string | undefined): number {
  const began = useRef(0);
  if (!busy) began.current = 0;
  else if (began.current === 0) began.current = Date.now();
  const stored = at ? Date.parse(at) : NaN;
  return busy && stored > began.current - 6 * 3_600_000 && stored < began.current
    ? stored
    : began.current || Date.now();
}
