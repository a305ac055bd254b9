import { useEffect, useState } from 'react';

/** A question that has just come does not take keys or presses yet: they were meant for what was there before. */
export const armAfter = 400;

/** True once the question has been on screen long enough to be read. */
export function useArmed(id: string): boolean {
  const [armed, setArmed] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setArmed(id), armAfter);
    return () => clearTimeout(timer);
  }, [id]);
  return armed === id;
}

export type DockKey = 'allow' | 'deny' | null;

/** What a key says to a permission. Only chords count, so that typing never answers; there is none for "always". */
export function dockKey(event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey' | 'repeat' | 'isComposing'>): DockKey {
  if (event.isComposing || event.repeat || event.altKey || !(event.ctrlKey || event.metaKey)) return null;
  if (event.key === 'Enter' && !event.shiftKey) return 'allow';
  if (event.key === 'Backspace' && event.shiftKey) return 'deny';
  return null;
}
