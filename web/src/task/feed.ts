import { useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { changeCached } from '../app/cached.ts';
import { client } from '../app/http.ts';
import type { Interaction } from '../app/types.ts';
import { patchTask } from '../tasks/cache.ts';
import { historyOf, type History } from './history.ts';

/** Whether the page is visible. Hidden pages close their connections. */
export function useVisible(): boolean {
  return useSyncExternalStore(
    (l) => {
      document.addEventListener('visibilitychange', l);
      return () => document.removeEventListener('visibilitychange', l);
    },
    () => document.visibilityState === 'visible',
  );
}

/** A task's messages, kept current by its feed while the page is visible. */
export function useHistory(taskId: string) {
  const history = historyOf(taskId);
  const state = useSyncExternalStore(history.subscribe, () => history.state);
  const queries = useQueryClient();
  const visible = useVisible();
  const [connected, setConnected] = useState(true);
  const ready = state.rev !== undefined;
  useEffect(() => {
    if (!ready) void history.load();
  }, [history, ready]);
  useEffect(() => {
    if (!ready || !visible) return;
    const stop = new AbortController();
    void followTask(taskId, history, queries, stop.signal, setConnected);
    return () => stop.abort();
  }, [taskId, history, queries, ready, visible]);
  return { history, state, connected };
}

async function followTask(
  taskId: string,
  history: History,
  queries: QueryClient,
  signal: AbortSignal,
  onState: (connected: boolean) => void,
) {
  const since = history.state.rev;
  // Whether the feed missed changes: an earlier one was closed when the page was hidden or left.
  let lost = history.followed;
  history.followed = true;
  try {
    const onConnection = (state: string) => {
      if (state === 'streaming') onState(true);
      // While the feed was away, more turns than the newest may have ended.
      if (state === 'streaming' && lost) void history.loadTurns();
      lost = state === 'reconnecting';
      if (state === 'reconnecting') onState(false);
    };
    // Messages that changed while disconnected arrive as frames. The task's own row may have changed without one: read
    // it.
    void queries.invalidateQueries({ queryKey: ['task', taskId] });
    for await (const frame of client.taskFeed(taskId, { since, signal, onConnection })) {
      switch (frame.type) {
        case 'message':
          history.apply(frame.data, frame.rev);
          break;
        case 'task':
          history.addEnding(frame.data.lastTurn, frame.rev);
          patchTask(queries, taskId, frame.data);
          break;
        case 'interaction':
          history.addQuestion(frame.data, frame.rev);
          applyInteraction(queries, frame.data);
          break;
        case 'reset':
          await history.load(true);
          void queries.invalidateQueries({ queryKey: ['task', taskId] });
          void queries.invalidateQueries({ queryKey: ['interactions'] });
      }
    }
  } catch {
    if (!signal.aborted) void queries.invalidateQueries({ queryKey: ['task', taskId] });
  }
}

/**
 * Applies an interaction frame of a task's feed to the list of open interactions. A request for the list that is on its
 * way may have an older state and would undo the change, so it is sent again.
 */
export function applyInteraction(queries: QueryClient, row: Interaction) {
  changeCached<Interaction[]>(queries, ['interactions'], (list) => {
    const others = list.filter((i) => i.id !== row.id);
    return row.state === 'open' ? [...others, row].sort((a, b) => a.createdAt.localeCompare(b.createdAt)) : others;
  });
  if (queries.isFetching({ queryKey: ['interactions'] }) > 0)
    void queries.invalidateQueries({ queryKey: ['interactions'] });
}
