import { useSyncExternalStore } from 'react';

/** One clock for all relative times: it ticks every half minute while any of them is shown. */
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let now = Date.now();

function subscribe(listener: () => void) {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const l of listeners) l();
  }, 30_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** "now", "5 min", "3 h", "2 d", else the date. */
export function relative(at: number, from: number): string {
  const seconds = Math.max(0, (from - at) / 1000);
  if (seconds < 60) return 'now';
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  if (seconds < 7 * 86_400) return `${Math.floor(seconds / 86_400)} d`;
  return new Date(at).toLocaleDateString(undefined, { day: 'numeric', month: 'short' });
}

/** "4 s", "1 min 12 s", "1 h 3 min". */
export function duration(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

export function Ago({ at }: { at: string }) {
  const current = useSyncExternalStore(subscribe, () => now);
  const time = new Date(at);
  return (
    <time dateTime={at} title={time.toLocaleString()}>
      {relative(time.getTime(), Math.max(current, time.getTime()))}
    </time>
  );
}
