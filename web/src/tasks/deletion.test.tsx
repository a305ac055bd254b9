import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, cleanup, configure, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { OnlyCopies, OnlyCopy, Task } from '../app/types.ts';
import { Toasts } from '../ui/toast.tsx';
import { TaskDeletion } from './deletion.tsx';

configure({ asyncUtilTimeout: 10_000 });
HTMLDialogElement.prototype.showModal = function () {
  this.open = true;
};
HTMLDialogElement.prototype.close = function () {
  this.open = false;
};

const task = { id: 't', title: 'Paint', hostId: 'h' } as Task;
const list = (id: string, ...items: OnlyCopy[]): OnlyCopies => ({ id, items });
const env: OnlyCopy = { kind: 'ignored', name: '.env', count: 1 };

let answers: { list: () => Response | Promise<Response>; deletion: (id: string | null) => Response };
let deletions: (string | null)[];
const onClose = vi.fn();

beforeEach(() => {
  deletions = [];
  onClose.mockReset();
  vi.stubGlobal('fetch', async (input: RequestInfo | URL, init?: RequestInit) => {
    const url = new URL(input instanceof Request ? input.url : input, location.href);
    const method = input instanceof Request ? input.method : (init?.method ?? 'GET');
    if (url.pathname.endsWith('/api/agents'))
      return Response.json({ agents: [], hosts: [{ hostId: 'h', name: 'far' }] });
    if (url.pathname.endsWith('/only-copies')) return answers.list();
    if (method !== 'DELETE') throw new Error(`${method} ${url.pathname}`);
    const id = url.searchParams.get('onlyCopies');
    deletions.push(id);
    return answers.deletion(id);
  });
});
afterEach(() => {
  act(() => void dispatchEvent(new Event('pagehide'))); // no deletion is left for the next test
  for (const button of screen.queryAllByRole('button', { name: 'Dismiss' })) fireEvent.click(button);
  cleanup();
  vi.unstubAllGlobals();
});

function show(found: OnlyCopies | (() => Response | Promise<Response>), kept?: OnlyCopies, patience = 60_000) {
  answers = {
    list: typeof found === 'function' ? found : () => Response.json(found),
    deletion: () => Response.json({ success: true, ...(kept && { kept }) }),
  };
  render(
    <QueryClientProvider client={new QueryClient()}>
      <TaskDeletion task={task} patience={patience} onClose={onClose} />
      <Toasts />
    </QueryClientProvider>,
  );
}

const button = (name: string) => screen.getByRole<HTMLButtonElement>('button', { name });
const everything = () => button('Delete everything');
const keep = () => button('Delete, keep the workspace');
const toasts = () => screen.getByRole('status').textContent ?? '';
/** Ends the time in which a deletion can be undone. */
const leave = () => act(() => void dispatchEvent(new Event('pagehide')));

it('deletes at once, with undo, when nothing exists only in the workspace', async () => {
  show(list(''));
  await waitFor(() => expect(onClose).toHaveBeenCalledOnce());
  expect(screen.queryByRole('dialog')).toBeNull();
  expect(button('Undo')).toBeTruthy();
  leave();
  await waitFor(() => expect(deletions).toEqual([null]));
});

it('names what would be lost, and keeps the workspace unless the user confirms', async () => {
  const found = list('shown', { kind: 'changed', name: 'src/', count: 214 }, env);
  show(found, found);
  const region = within(await screen.findByRole('region', { name: 'What exists only there' }));
  expect(region.getAllByRole('heading').map((h) => h.textContent)).toEqual(['214 changed files', '1 ignored file']);
  expect(region.getAllByRole('listitem').map((li) => li.textContent)).toEqual(['src/214 files', '.env']);
  expect(await screen.findByText('far')).toBeTruthy();
  expect(document.activeElement).toBe(keep());
  expect(everything().disabled).toBe(true);

  fireEvent.click(keep());
  expect(onClose).toHaveBeenCalledOnce();
  leave();
  await waitFor(() => expect(toasts()).toContain('(214 changed files, 1 ignored file)'));
  expect(toasts()).toContain('is kept on the host “\u2068far\u2069”');
  expect(deletions).toEqual([null]);
});

it('deletes everything after a confirmation of the list that is shown', async () => {
  show(list('shown', env));
  fireEvent.click(await screen.findByRole('checkbox'));
  fireEvent.click(everything());
  await waitFor(() => expect(onClose).toHaveBeenCalledOnce());
  expect(deletions).toEqual(['shown']);
  expect(toasts()).toContain('with its workspace');
});

it('says that the workspace goes later when the host is away by then', async () => {
  show(list('shown', env));
  answers.deletion = () => Response.json({ success: true, pending: true });
  fireEvent.click(await screen.findByRole('checkbox'));
  expect(await screen.findByText('far')).toBeTruthy();
  fireEvent.click(everything());
  await waitFor(() => expect(onClose).toHaveBeenCalledOnce());
  expect(toasts()).toContain('Its workspace is removed when the host “\u2068far\u2069” is back');
  expect(toasts()).not.toContain('with its workspace');
});

it('shows what is there now, and asks again, when the list is outdated', async () => {
  show(list('old', env));
  answers.deletion = (id) =>
    id === 'new'
      ? Response.json({ success: true })
      : Response.json({ error: 'other things now', code: 'conflict' }, { status: 409 });
  fireEvent.click(await screen.findByRole('checkbox'));
  answers.list = () => Response.json(list('new', env, { kind: 'stash', name: 'refs/stash', count: 1 }));
  fireEvent.click(everything());
  expect((await screen.findByRole('alert')).textContent).toContain('nothing was deleted');
  expect(await screen.findByText('1 stash')).toBeTruthy();
  expect(onClose).not.toHaveBeenCalled();
  expect(everything().disabled).toBe(true);

  fireEvent.click(screen.getByRole('checkbox'));
  fireEvent.click(everything());
  await waitFor(() => expect(onClose).toHaveBeenCalledOnce());
  expect(deletions).toEqual(['old', 'new']);
});

it('says that a host does not answer, and deletes the task without its workspace', async () => {
  show(list('', { kind: 'unknown', name: 'The agent host does not tell', count: 0 }));
  expect((await screen.findByRole('alert')).textContent).toContain('does not answer');
  expect(screen.queryByRole('checkbox')).toBeNull();
  expect(screen.queryByRole('button', { name: 'Delete everything' })).toBeNull();
  answers.list = () => Response.json(list('shown', env));
  fireEvent.click(button('Look again'));
  expect(await screen.findByText('.env')).toBeTruthy();

  fireEvent.click(keep());
  leave();
  await waitFor(() => expect(deletions).toEqual([null]));
});

it('says why the list was not read, and can delete the task', async () => {
  show(() => Response.json({ error: 'broken', code: 'internal' }, { status: 500 }));
  expect((await screen.findByRole('alert')).textContent).toContain('broken (500)');
  expect(screen.queryByRole('checkbox')).toBeNull();
  fireEvent.click(keep());
  leave();
  await waitFor(() => expect(deletions).toEqual([null]));
});

it('shows that it reads, and deletes nothing by itself once it has asked', async () => {
  let answer: ((found: Response) => void) | undefined;
  show(() => new Promise<Response>((resolve) => (answer = resolve)), undefined, 0);
  expect(await screen.findByText('Loading what exists only in the workspace …')).toBeTruthy();
  expect(document.activeElement).toBe(keep());
  answer?.(Response.json(list('none')));
  expect(await screen.findByText('Nothing exists only in its workspace.')).toBeTruthy();
  expect(onClose).not.toHaveBeenCalled();
  expect(document.activeElement).toBe(button('Delete'));
  expect(screen.queryByRole('checkbox')).toBeNull();
  fireEvent.click(button('Cancel'));
  leave();
  expect(deletions).toEqual([]);
});

it('shows names as text, whatever they hold', async () => {
  show(list('shown', { kind: 'changed', name: '<img src=x onerror=alert(1)>\u202etxt.sh', count: 1 }));
  const name = await screen.findByText('<img src=x onerror=alert(1)>\\u202etxt.sh');
  expect(name.tagName).toBe('BDI');
});
