import type { Notice } from '@bellhop/client';
import { useCallback, useState } from 'react';

/** How many notices of a turn are shown. */
const shown = 5;

/**
 * The notices of the turn in the stream, each once: a stream that was cut repeats them. They stay after its end, until
 * `forget` is called for the next turn.
 */
export function useNotices() {
  const [notices, setNotices] = useState<readonly Notice[]>([]);
  const read = useCallback((part: { type: string; data: unknown }) => {
    const notice = noticeOf(part);
    if (!notice) return;
    setNotices((before) =>
      before.some((n) => n.message === notice.message) ? before : [...before, notice].slice(-shown),
    );
  }, []);
  const forget = useCallback(() => setNotices([]), []);
  return { notices, read, forget };
}

function noticeOf({ type, data }: { type: string; data: unknown }): Notice | undefined {
  if (type === 'data-context-restored') {
    const turns = Number((data as { turns?: unknown } | null)?.turns) || 0;
    const message = `The agent has lost its memory and continues with the conversation so far (${turns} turns).`;
    return { level: 'info', message };
  }
  const { level = 'info', message } = (type === 'data-notice' && (data as Partial<Notice> | null)) || {};
  return message ? { level, message } : undefined;
}
