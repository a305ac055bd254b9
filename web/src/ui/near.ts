import { useEffect, useRef, useState, type RefObject } from 'react';

/** How far outside the visible part of the list an element is rendered already. */
const margin = '1500px';

/**
 * Whether an element of a scrolling list has come near the visible part. It stays true from then on, so that
 * scrolling back shows it at once. The element must be a direct child of the element that scrolls.
 */
export function useNear<T extends Element>(): [RefObject<T | null>, boolean] {
  const ref = useRef<T>(null);
  const [near, setNear] = useState(false);
  useEffect(() => {
    const element = ref.current;
    if (!element || near) return;
    const observer = new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && setNear(true), {
      root: element.parentElement,
      rootMargin: margin,
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [near]);
  return [ref, near];
}
