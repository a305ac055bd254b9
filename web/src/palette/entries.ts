import type { IconName } from '../ui/icon.tsx';
import { places } from '../app/places.ts';
import type { Act } from './acts.ts';

export interface Entry {
  id: string;
  label: string;
  icon: IconName;
  /** The address that it leads to. */
  to?: string;
  /** What an act of the shown page does. */
  run?: () => void;
}

/** The acts and pages that the palette knows besides tasks, those of the shown page first. */
export function entriesOf(admin: boolean, acts: readonly Act[] = []): Entry[] {
  return [
    ...acts.map((act, i): Entry => ({ id: `act-${i}`, ...act })),
    { id: 'new', label: 'New task', icon: 'plus' },
    ...places
      .filter((place) => admin || !place.admin)
      .map(({ to, label, icon }): Entry => ({ id: to, label, icon, to })),
    { id: 'help', label: 'Keyboard shortcuts', icon: 'help' },
    { id: 'out', label: 'Sign out', icon: 'out' },
  ];
}

/** The entries with every word of the text at the beginning of one of their words. */
export function matching(entries: readonly Entry[], text: string): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return entries.filter(({ label }) => {
    const parts = label.toLowerCase().split(/\s+/);
    return words.every((word) => parts.some((part) => part.startsWith(word)));
  });
}
