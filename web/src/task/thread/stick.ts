import { useCallback, useEffect, useRef, useState } from 'react';

/** So near the end counts as being there. */
const near = 48;

/** Keeps a scrolling element at its end while its content grows, but only if the reader is there. */
export function useStick(): { scroll: (e: HTMLElement | null) => void; content: (e: HTMLElement | null) => void; away: boolean; toEnd: () => void; element: () => HTMLElement | null } {
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

  useEffect(() => {
    const element = box.current;
    const content = inside.current;
    if (!element || !content) return;
    let last = element.scrollTop;
    const onScroll = () => {
      const distance = element.scrollHeight - element.scrollTop - element.clientHeight;
      // Only going up leaves the end: growing content moves it away without anybody having scrolled.
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
