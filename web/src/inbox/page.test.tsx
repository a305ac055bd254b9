import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Interaction } from '../app/types.ts';
import { armAfter } from '../task/dock/armed.ts';
import { confirm } from '../task/kit.ts';
import { InboxPage } from './page.tsx';

vi.mock('@tanstack/react-router', () => ({
  Link: ({ children }: { children: ReactNode }) => <a href="#task">{children}</a>,
}));

const pageHeight = 700;
let open: Interaction[] = [];
let answered: string[] = [];
let heights: Record<string, number> = {};
let scrolled = 0;

const cards = () => [...document.querySelectorAll<HTMLElement>('[data-card]')];
const height = (card: HTMLElement) => heights[card.dataset.card ?? ''] ?? 0;

/** The top of a card in the window. */
function topOf(card: HTMLElement): number {
  let top = 100 - scrolled;
  for (const other of cards()) {
    if (other === card) break;
    top += height(other) + 20;
  }
  return top;
}

/** A layout: cards one below the other, each with its question above and its buttons below. */
function box(this: Element): DOMRect {
  const at = (top: number, tall: number) => new DOMRect(0, top, 800, tall);
  if (this.localName === 'main') return at(0, pageHeight);
  const card = this.closest<HTMLElement>('[data-card]');
  if (!card) return at(0, 0);
  if (this.matches('[data-question]')) return at(topOf(card), 40);
  if (this.matches('[data-answers]')) return at(topOf(card) + height(card) - 50, 50);
  return at(topOf(card), height(card));
}

/** What a person would say of a card. */
function isSeen(card: HTMLElement): boolean {
  const [top, tall] = [topOf(card), height(card)];
  const seen = Math.min(top + tall, pageHeight) - Math.max(top, 0);
  return seen >= 0.9 * tall || (top >= 0 && top + tall <= pageHeight);
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('innerHeight', pageHeight);
  vi.stubGlobal('innerWidth', 800);
  vi.spyOn(Element.prototype, 'getBoundingClientRect').mockImplementation(box);
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const id = /interactions\/(\w+)$/.exec(String(url))?.[1];
    if (!id) return Response.json({ interactions: open });
    answered.push(`${id} ${JSON.parse(String(init.body)).approved}`);
    open = open.filter((i) => i.id !== id);
    return Response.json(confirm({ id, state: 'resolved' }));
  });
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test('keys answer the card that is selected and in view, and no other one', async () => {
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  open = Array.from({ length: 30 }, (_, n) => confirm({ id: `q${n}`, createdAt: `2026-01-02T03:04:${10 + n}Z` }));
  for (const { id } of open) heights[id] = 120 + random(8) * 100;
  render(
    <QueryClientProvider client={new QueryClient()}>
      <InboxPage />
    </QueryClientProvider>,
  );
  await act(() => vi.advanceTimersByTimeAsync(armAfter));
  let byFocus = 0;
  for (let round = 0; round < 30 && open.length > 0; round++) {
    const all = cards();
    scrolled = random(
      Math.max(
        1,
        all.reduce((sum, card) => sum + height(card) + 20, 0),
      ),
    );
    const focused = [undefined, all[random(all.length)], all.filter(isSeen).at(-1)][random(3)];
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    focused?.querySelector<HTMLElement>('a')?.focus();
    fireEvent.scroll(document.body);
    await act(() => vi.advanceTimersByTimeAsync(armAfter)); // the page looks
    await act(() => vi.advanceTimersByTimeAsync(armAfter)); // the user aims
    const seen = focused ? [focused].filter(isSeen) : all.filter(isSeen);
    const expected = seen[0]?.dataset.card;
    if (focused && expected) byFocus++;
    expect(
      cards().flatMap((card) => (card.querySelector('kbd') ? [card.dataset.card] : [])),
      `round ${round}`,
    ).toEqual(expected ? [expected] : []);
    answered = [];
    const approved = random(2) === 0;
    fireEvent.keyDown(document.activeElement ?? document.body, {
      key: approved ? 'Enter' : 'Backspace',
      ctrlKey: true,
      shiftKey: !approved,
    });
    await act(() => vi.advanceTimersByTimeAsync(armAfter));
    expect(answered, `round ${round}`).toEqual(expected ? [`${expected} ${approved}`] : []);
  }
  expect(byFocus).toBeGreaterThan(0);
  expect(open.length).toBeLessThan(25);
});

test('a key is for what was in view when it was aimed', async () => {
  open = [confirm({ id: 'q1' }), confirm({ id: 'q2', createdAt: '2026-02-02T03:04:05Z' })];
  heights = { q1: 600, q2: 600 };
  scrolled = 0;
  answered = [];
  render(
    <QueryClientProvider client={new QueryClient()}>
      <InboxPage />
    </QueryClientProvider>,
  );
  await act(() => vi.advanceTimersByTimeAsync(2 * armAfter));
  expect(screen.getAllByText(/^(Ctrl Enter|⌘⏎)$/)).toHaveLength(1);
  const press = async () => {
    fireEvent.keyDown(document.body, { key: 'Enter', ctrlKey: true });
    await act(() => vi.advanceTimersByTimeAsync(0));
  };
  scrolled = 700; // before the page has noticed
  await press();
  fireEvent.scroll(document.body);
  await act(() => vi.advanceTimersByTimeAsync(armAfter / 2));
  await press(); // the second card is not aimed at yet
  expect(answered).toEqual([]);
  await act(() => vi.advanceTimersByTimeAsync(armAfter));
  await press();
  expect(answered).toEqual(['q2 true']);
});
