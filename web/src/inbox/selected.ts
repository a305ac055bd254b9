import { type RefObject, useEffect, useState } from 'react';
import { isInView } from '../task/dock/inview.ts';

/**
 * Returns the id of the card that keys answer: that with the focus, else the first one in view. It is undefined while
 * the card with the focus is not in view, and if none is. The cards of a list have their ids in data-card.
 */
export function useSelected(list: RefObject<HTMLElement | null>): string | undefined {
  const [selected, setSelected] = useState<string>();
  useEffect(() => setSelected(select(list.current))); // the list may be another one
  useEffect(() => {
    let frame = 0;
    const look = () => {
      frame = 0;
      setSelected(select(list.current));
    };
    const soon = () => {
      frame ||= requestAnimationFrame(look);
    };
    const events = ['scroll', 'resize', 'focusin', 'focusout'] as const;
    for (const event of events) addEventListener(event, soon, { capture: true, passive: true });
    return () => {
      cancelAnimationFrame(frame);
      for (const event of events) removeEventListener(event, soon, { capture: true });
    };
  }, [list]);
  return selected;
}

function select(list: HTMLElement | null): string | undefined {
  const all = [...(list?.querySelectorAll<HTMLElement>('[data-card]') ?? [])];
  const focused = all.find((card) => card.contains(document.activeElement));
  const card = focused ?? all.find(isInView);
  return card && isInView(card) ? card.dataset.card : undefined;
}
