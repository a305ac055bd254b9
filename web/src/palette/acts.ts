import { useEffect, useRef } from 'react';
import type { IconName } from '../ui/icon.tsx';

/** Something that the shown page can do. */
export interface Act {
  label: string;
  icon: IconName;
  run: () => void;
}

type Source = () => readonly Act[];

const sources = new Set<Source>();

/** Offers acts in the palette while the component is shown. */
export function useActs(acts: readonly Act[]) {
  const latest = useRef(acts);
  latest.current = acts;
  useEffect(() => {
    const source = () => latest.current;
    sources.add(source);
    return () => {
      sources.delete(source);
    };
  }, []);
}

/** The acts of the shown page. */
export const currentActs = (): readonly Act[] => [...sources].flatMap((source) => source());
