import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { describe, expect, it, vi } from 'vitest';
import { notice } from '../inbox/notify.ts';
import { relative } from '../ui/time.tsx';
import type { Task, TaskHint } from '../app/types.ts';
import { applyHint, findTask, lacksTurn, newer, newerRows, patchTask } from './cache.ts';
import { isUnread, statusOf } from './status.ts';
import { titleOf } from './title.ts';

const task = (change: Partial<Task> = {}): Task => ({
  id: 't',
  title: 'T',
  mode: 'agent',
  agent: 'demo',
  project: '',
  hostId: 'h',
  agentUrl: '',
  agentStatus: 'idle',
  reason: '',
  openTurn: null,
  lastTurn: null,
  openInteractions: 0,
  readRev: 0,
  rev: 5,
  archived: false,
  createdAt: '',
  lastActivityAt: '',
  ...change,
});
const ended = (finishReason: 'stop' | 'error' | 'other', reason = '') => ({
  lastTurn: { id: 'x', finishReason, reason, usage: null },
});
const quiet = { basicHost: true, openTurn: 'turn', reason: 'waiting' } as const;
const none = new Set<string>();

describe('statusOf', () => {
  it.each([
    ['a question beats everything', task({ openInteractions: 1, agentStatus: 'busy' }), none, 'waiting'],
    ['an offline host beats work', task({ agentStatus: 'busy' }), new Set(['h']), 'offline'],
    ['work', task({ agentStatus: 'busy', ...ended('error') }), none, 'busy'],
    ['a basic server that is silent', task({ ...quiet, ...ended('error') }), none, 'quiet'],
    ['one that goes on', task({ ...quiet, agentStatus: 'busy', reason: '' }), none, 'busy'],
    ['one that asks', task({ ...quiet, openInteractions: 1 }), none, 'waiting'],
    ['its end', task({ ...quiet, openTurn: null, reason: '', ...ended('stop') }), none, 'done'],
    ['an error', task(ended('error')), none, 'failed'],
    ['a lost host', task(ended('other', 'host-lost')), none, 'failed'],
    ['an interrupt is no failure', task(ended('other', 'aborted')), none, 'stopped'],
    ['an end', task(ended('stop')), none, 'done'],
    ['an end that a basic host did not report', task(ended('stop', 'no-finish')), none, 'done'],
    ['a basic host that sent nothing', task(ended('other', 'no-finish')), none, 'failed'],
    ['nothing yet', task(), none, 'new'],
  ])('%s', (_name, t, offline, want) => expect(statusOf(t, offline).kind).toBe(want));
});

describe('isUnread', () => {
  it('ignores the change by the read mark itself', () =>
    expect(isUnread(task({ rev: 6, readRev: 5, ...ended('stop') }))).toBe(false));
  it('is set by a later change', () => expect(isUnread(task({ rev: 8, readRev: 5, ...ended('stop') }))).toBe(true));
});

describe('applyHint', () => {
  const hint: TaskHint = { taskId: 't', rev: 7, agentStatus: 'busy', reason: '', openInteractions: 2 };
  const client = (t: Task) => {
    const c = new QueryClient();
    c.setQueryData(['tasks', { q: '', archived: false }], {
      pages: [{ tasks: [t], nextCursor: '' }],
      pageParams: [''],
    });
    return c;
  };
  it('changes the task in every list and returns the earlier one', () => {
    const c = client(task());
    expect(applyHint(c, hint)?.openInteractions).toBe(0);
    expect(findTask(c, 't')).toMatchObject({ rev: 7, agentStatus: 'busy', openInteractions: 2 });
  });
  it('does not go back to an older state', () => {
    const c = client(task({ rev: 9 }));
    applyHint(c, hint);
    expect(findTask(c, 't')).toMatchObject({ rev: 9, agentStatus: 'idle' });
  });
  it('leaves a list stale that has to be read again', async () => {
    const c = client(task());
    await c.invalidateQueries({ queryKey: ['tasks'] });
    applyHint(c, hint);
    expect(findTask(c, 't')?.rev).toBe(7);
    expect(c.getQueryState(['tasks', { q: '', archived: false }])?.isInvalidated).toBe(true);
  });
  it('leaves a list stale whose page is left while it is read', async () => {
    const c = client(task());
    const queryKey = ['tasks', { q: '', archived: false }];
    const reads = vi.fn(({ signal }: { signal: AbortSignal }) => new Promise(() => signal));
    const leave = new QueryObserver(c, { queryKey, queryFn: reads, staleTime: Infinity }).subscribe(vi.fn());
    void c.invalidateQueries({ queryKey });
    expect(reads).toHaveBeenCalledOnce();
    applyHint(c, hint);
    leave();
    await vi.waitFor(() => expect(c.isFetching()).toBe(0));
    expect(c.getQueryState(queryKey)?.isInvalidated).toBe(true);
  });
  it.each([
    ['reads a list of one state again when a task changes its state', hint, 'waiting', 1],
    [
      'leaves it when a task only goes on',
      { ...hint, agentStatus: 'idle', openInteractions: 0 } as TaskHint,
      'waiting',
      0,
    ],
    ['leaves a list of all states', hint, '', 0],
  ])('%s', async (_name, change, state, times) => {
    vi.useFakeTimers();
    const c = client(task());
    const queryFn = vi.fn(() => Promise.resolve({ tasks: [], nextCursor: '' }));
    const queryKey = ['tasks', { q: '', archived: false, state }];
    const leave = new QueryObserver(c, {
      queryKey,
      queryFn,
      initialData: { pages: [] },
      staleTime: Infinity,
    }).subscribe(vi.fn());
    applyHint(c, change);
    await vi.advanceTimersByTimeAsync(1000);
    expect(queryFn).toHaveBeenCalledTimes(times);
    leave();
    vi.useRealTimers();
  });
  it('survives a list that was read before it', () => {
    const c = client(task());
    applyHint(c, hint);
    const page = newerRows(c, { tasks: [task(), task({ id: 'u' })], nextCursor: 'x' });
    expect(page).toMatchObject({
      tasks: [
        { rev: 7, agentStatus: 'busy' },
        { id: 'u', rev: 5 },
      ],
      nextCursor: 'x',
    });
    expect(newerRows(c, { tasks: [task({ rev: 8 })], nextCursor: '' }).tasks[0]).toMatchObject({ rev: 8 });
  });
});

describe('a hint of the end of a turn', () => {
  const hint: TaskHint = { taskId: 't', rev: 8, agentStatus: 'idle', reason: '', openInteractions: 0 };
  const ended = task({ rev: 7, agentStatus: 'idle', openTurn: null });
  const behind = (page: Task, row: Task) => {
    const c = new QueryClient();
    c.setQueryData(['task', 't'], page);
    c.setQueryData(['tasks', { q: '', archived: false }], {
      pages: [{ tasks: [row], nextCursor: '' }],
      pageParams: [''],
    });
    return lacksTurn(c, hint);
  };
  it('asks for the row while a list has the turn open, though the page knows of its end', () => {
    expect(behind(ended, task({ rev: 6, agentStatus: 'busy', openTurn: 'turn' }))).toBe(true);
    expect(behind(ended, task({ rev: 6, agentStatus: 'idle', openTurn: 'turn' }))).toBe(true);
  });
  it('asks for nothing when every row has the end', () => {
    expect(behind(ended, ended)).toBe(false);
    expect(behind(ended, task({ rev: 9, agentStatus: 'busy', openTurn: 'next' }))).toBe(false);
  });
});

describe('a task that is open', () => {
  const hint: TaskHint = { taskId: 't', rev: 8, agentStatus: 'idle', reason: '', openInteractions: 0 };
  const client = () => {
    const c = new QueryClient();
    c.setQueryData(['task', 't'], task({ rev: 6, agentStatus: 'busy', openTurn: 'turn' }));
    return c;
  };
  it('accepts its row after a hint with a later rev', () => {
    const c = client();
    applyHint(c, hint);
    patchTask(c, 't', task({ rev: 7, agentStatus: 'idle', openTurn: null }));
    expect(findTask(c, 't')).toMatchObject({ openTurn: null, agentStatus: 'idle' });
  });
  it('keeps newer frames when an older read arrives late', () => {
    const c = client();
    const late = task({ rev: 6, agentStatus: 'busy', openTurn: 'turn' });
    patchTask(c, 't', task({ rev: 7, agentStatus: 'idle', openTurn: null }));
    expect(newer(c, late)).toMatchObject({ rev: 7, openTurn: null });
    expect(newer(c, task({ rev: 9 }))).toMatchObject({ rev: 9 });
  });
});

describe('notice', () => {
  it('notifies of a new question', () =>
    expect(notice(task(), { taskId: 't', rev: 6, agentStatus: 'idle', reason: 'waiting', openInteractions: 1 })).toBe(
      'Waiting for you',
    ));
  it('notifies of the end of a turn', () =>
    expect(
      notice(task({ agentStatus: 'busy' }), {
        taskId: 't',
        rev: 6,
        agentStatus: 'idle',
        reason: '',
        openInteractions: 0,
      }),
    ).toBe('The turn is over'));
  it('notifies of the end of a quiet turn, not of its silence', () => {
    const silent = { taskId: 't', rev: 6, agentStatus: 'idle', reason: 'waiting', openInteractions: 0 } as const;
    expect(notice(task({ ...quiet, agentStatus: 'busy', reason: '' }), silent)).toBeNull();
    expect(notice(task(quiet), { ...silent, agentStatus: 'busy', reason: '' })).toBeNull();
    expect(notice(task(quiet), { ...silent, reason: '' })).toBe('The turn is over');
  });
  it('ignores old changes', () =>
    expect(
      notice(task({ agentStatus: 'busy' }), {
        taskId: 't',
        rev: 5,
        agentStatus: 'idle',
        reason: '',
        openInteractions: 0,
      }),
    ).toBeNull());
});

describe('titleOf', () => {
  it.each([
    ['its first line', 'Fix the parser\nIt fails', 'Fix the parser'],
    ['without marks', '\n## `Fix` it', 'Fix it'],
    ['cut at a word', `${'word '.repeat(30)}`, `${'word '.repeat(16).trim()}…`],
    ['no half characters', '🙂'.repeat(100), `${'🙂'.repeat(80)}…`],
    ['something in any case', '```', 'New task'],
  ])('takes %s', (_name, message, want) => expect(titleOf(message)).toBe(want));
});

describe('relative', () => {
  it.each([
    [0, 'now'],
    [59, 'now'],
    [60, '1 min'],
    [3600, '1 h'],
    [90_000, '1 d'],
  ])('%d s is %s', (s, want) => expect(relative(0, s * 1000)).toBe(want));
});
