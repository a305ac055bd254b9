import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { toast, Toasts } from './toast.tsx';

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  act(() => vi.advanceTimersByTime(60_000));
  cleanup();
  vi.useRealTimers();
});

const shown = (text: string) => screen.queryByText(text) !== null;
const wait = (ms: number) => act(() => vi.advanceTimersByTime(ms));

it('shows a message for 5 seconds, and one with an action for 10', () => {
  render(<Toasts />);
  act(() => {
    toast('saved');
    toast('deleted', { label: 'Undo', run: () => undefined });
  });
  wait(4999);
  expect([shown('saved'), shown('deleted')]).toEqual([true, true]);
  wait(1);
  expect([shown('saved'), shown('deleted')]).toEqual([false, true]);
  wait(5000);
  expect(shown('deleted')).toBe(false);
});

it('keeps messages while the pointer or the focus is on them', () => {
  render(<Toasts />);
  act(() => toast('deleted', { label: 'Undo', run: () => undefined }));
  wait(9000);
  fireEvent.pointerEnter(screen.getByRole('status'));
  act(() => toast('saved'));
  wait(60_000);
  expect([shown('saved'), shown('deleted')]).toEqual([true, true]);
  fireEvent.pointerLeave(screen.getByRole('status'));
  wait(999);
  expect([shown('saved'), shown('deleted')]).toEqual([true, true]);
  wait(1);
  expect([shown('saved'), shown('deleted')]).toEqual([true, false]);
  fireEvent.focus(screen.getByRole('button', { name: 'Dismiss' }));
  wait(60_000);
  expect(shown('saved')).toBe(true);
  fireEvent.blur(screen.getByRole('button', { name: 'Dismiss' }));
  wait(4000);
  expect(shown('saved')).toBe(false);
});

it('shows later messages for their time after a held one was dismissed', () => {
  render(<Toasts />);
  act(() => toast('first'));
  fireEvent.pointerEnter(screen.getByRole('status'));
  fireEvent.click(screen.getByRole('button', { name: 'Dismiss' }));
  act(() => toast('second'));
  wait(5000);
  expect(shown('second')).toBe(false);
});
