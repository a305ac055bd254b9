import { useEffect, useState } from 'react';

/** A new question ignores keys and clicks at first, because the user may have aimed at the previous content. */
export const armAfter = 400;

/** Returns true once the question has been visible long enough to be read. */
export function useArmed(id: string): boolean {
  const [armed, setArmed] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setArmed(id), armAfter);
    return () => clearTimeout(timer);
  }, [id]);
  return armed === id;
}

export type DockKey = 'allow' | 'deny' | null;

/**
 * Returns the answer that a key gives to a permission. Only key combinations count, so that typing never answers; none
 * of them means "always".
 */
export function dockKey(
  event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey' | 'repeat' | 'isComposing'>,
): DockKey {
  if (event.isComposing || event.repeat || event.altKey || !(event.ctrlKey || event.metaKey)) return null;
  if (event.key === 'Enter' && !event.shiftKey) return 'allow';
  if (event.key === 'Backspace' && event.shiftKey) return 'deny';
  return null;
}
