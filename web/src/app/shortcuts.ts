import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

/** Whether the target is a text field, or is in a dialog. Shortcuts do not work there. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
    target.closest('dialog,[popover]') !== null
  );
}

export function useShortcuts(handlers: { onNew: () => void; onHelp: () => void; onPalette: () => void }) {
  const navigate = useNavigate();
  const latest = useRef(handlers);
  latest.current = handlers;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isPaletteKey(event) && !document.querySelector('dialog[open]')) {
        event.preventDefault();
        latest.current.onPalette();
        return;
      }
      if (
        event.defaultPrevented ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        event.isComposing ||
        isTyping(event.target)
      )
        return;
      const act = actions[event.key];
      if (!act || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      act();
    };
    const actions: Record<string, () => void> = {
      '?': () => latest.current.onHelp(),
      '/': () => document.querySelector<HTMLInputElement>('[data-search]')?.focus(),
      c: () => latest.current.onNew(),
      i: () => void navigate({ to: '/inbox' }),
      j: () => step(1),
      k: () => step(-1),
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [navigate]);
}

/** Ctrl K, or ⌘ K; also while the user types, because no text field has a use for it. */
const isPaletteKey = (event: KeyboardEvent) =>
  event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;

let steppedAt = -Infinity;

/** Whether a key has just opened a task. The next key is then for the list instead of the composer. */
export const openedByKey = () => performance.now() - steppedAt < 1500;

/** Opens the task below or above the current one. */
function step(by: number) {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('[data-task-link]')];
  const at = links.findIndex((l) => l.getAttribute('aria-current') === 'page' || l === document.activeElement);
  const next = links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.max(0, Math.min(links.length - 1, at + by))];
  steppedAt = performance.now();
  next?.focus();
  next?.click();
}
