import { useCallback, useEffect, useRef, useState } from 'react';

/** Pixels from the end that still count as the end. */
const near = 48;

/** Keeps a scrolling element at its end while its content grows, unless the reader has scrolled up. */
export function useStick(): {
  scroll: (e: HTMLElement | null) => void;
  content: (e: HTMLElement | null) => void;
  away: boolean;
  toEnd: () => void;
  element: () => HTMLElement | null;
} {
  const box = useRef<HTMLElement | null>(null);
  const inside = useRef<HTMLElement | null>(null);
  const stuck = useRef(true);
  const [away, setAway] = useState(false);
  const [ready, setReady] = useState(0);

  const toEnd = useCallback(() => {
    stuck.current = true;
    setAway(false);
    const element = box.current;
    if (element) element.scrollTop = element.scrollHeight;
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: ready changes when one of the two elements is mounted.
  useEffect(() => {
    const element = box.current;
    const content = inside.current;
    if (!element || !content) return;
    let last = element.scrollTop;
    const onScroll = () => {
      const distance = element.scrollHeight - element.scrollTop - element.clientHeight;
      // Only scrolling up leaves the end: growing content increases the distance without any scrolling.
      if (distance < near) stuck.current = true;
      else if (element.scrollTop < last - 1) stuck.current = false;
      last = element.scrollTop;
      setAway(!stuck.current);
    };
    const follow = () => {
      if (!stuck.current) return;
      element.scrollTop = element.scrollHeight;
      last = element.scrollTop;
    };
    const sizes = new ResizeObserver(follow);
    sizes.observe(content);
    sizes.observe(element);
    element.addEventListener('scroll', onScroll, { passive: true });
    follow();
    return () => {
      sizes.disconnect();
      element.removeEventListener('scroll', onScroll);
    };
  }, [ready]);

  const scroll = useCallback((e: HTMLElement | null) => {
    box.current = e;
    if (e) setReady((n) => n + 1);
  }, []);
  const content = useCallback((e: HTMLElement | null) => {
    inside.current = e;
    if (e) setReady((n) => n + 1);
  }, []);
  return { scroll, content, away, toEnd, element: () => box.current };
}
