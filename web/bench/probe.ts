import type { Page } from '@playwright/test';

export interface Probed {
  /** Milliseconds between frames, in order. */
  frames: number[];
  /** Milliseconds of each task over 50. */
  long: number[];
}

declare global {
  interface Window {
    probe?: Probed & { stop: () => void };
  }
}

/** Starts counting frames and long tasks. */
export async function probe(page: Page): Promise<void> {
  await page.evaluate(() => {
    const frames: number[] = [];
    const long: number[] = [];
    const observer = new PerformanceObserver((list) => long.push(...list.getEntries().map((e) => e.duration)));
    observer.observe({ type: 'longtask' });
    let last = performance.now();
    let next = requestAnimationFrame(function frame(now) {
      frames.push(now - last);
      last = now;
      next = requestAnimationFrame(frame);
    });
    window.probe = {
      frames,
      long,
      stop: () => {
        observer.disconnect();
        cancelAnimationFrame(next);
      },
    };
  });
}

export async function probed(page: Page): Promise<Probed> {
  return page.evaluate(() => {
    window.probe?.stop();
    return { frames: window.probe?.frames ?? [], long: window.probe?.long ?? [] };
  });
}

/** Returns the megabytes of the JavaScript heap after a garbage collection. */
export async function heap(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize / 1024 / 1024;
}

export const quantile = (values: readonly number[], q: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))] ?? 0;

/** Describes frames and long tasks. */
export function describe({ frames, long }: Probed): [string, string][] {
  const total = frames.reduce((a, b) => a + b, 0);
  const share = (limit: number) => `${((frames.filter((f) => f <= limit).length / frames.length) * 100).toFixed(1)} %`;
  return [
    [
      'frames',
      `${frames.length} in ${(total / 1000).toFixed(1)} s, ${((frames.length / total) * 1000).toFixed(1)} a second`,
    ],
    [
      'time between frames p50 / p95 / p99 / max',
      `${[0.5, 0.95, 0.99, 1].map((q) => quantile(frames, q).toFixed(1)).join(' / ')} ms`,
    ],
    ['frames within 17.5 ms / 34 ms', `${share(17.5)} / ${share(34)}`],
    [
      'tasks over 50 ms',
      `${long.length}, ${long.reduce((a, b) => a + b, 0).toFixed(0)} ms in all, longest ${Math.max(0, ...long).toFixed(0)} ms`,
    ],
  ];
}
