import { act, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { setStopping, useStopping } from './stopping.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  setStopping(false);
  vi.useRealTimers();
});

test('a broker that stops is shown after a second, until a feed is open again', () => {
  const { result } = renderHook(useStopping);
  act(() => setStopping(true));
  act(() => void vi.advanceTimersByTime(999));
  expect(result.current).toBe(false);
  act(() => void vi.advanceTimersByTime(1));
  expect(result.current).toBe(true);
  act(() => setStopping(false));
  expect(result.current).toBe(false);
});

test('a replica that takes over within a second is not noticed', () => {
  const { result } = renderHook(useStopping);
  for (const stops of [true, false, true, false]) {
    act(() => setStopping(stops));
    act(() => void vi.advanceTimersByTime(900));
    expect(result.current).toBe(false);
  }
});
