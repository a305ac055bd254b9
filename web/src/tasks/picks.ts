import { readSetting, writeSetting } from '../settings/store.ts';
import type { Picks } from './choices.ts';
import { isMode } from './mode.tsx';

const nothing: Picks = { agent: '', model: '', project: '', hostId: '', workspace: '', mode: 'ask' };

/** The picks of the last task that was created in this browser. */
export function readPicks(): Picks {
  try {
    const kept: unknown = JSON.parse(readSetting('picks') ?? 'null');
    if (typeof kept !== 'object' || kept === null) return nothing;
    const text = (name: string) => {
      const value = (kept as Record<string, unknown>)[name];
      return typeof value === 'string' ? value : '';
    };
    const mode = text('mode');
    return {
      agent: text('agent'),
      model: text('model'),
      project: text('project'),
      hostId: text('hostId'),
      workspace: '', // only one task at a time works in a workspace
      mode: isMode(mode) ? mode : 'ask',
    };
  } catch {
    return nothing;
  }
}

export const savePicks = (picks: Picks) => writeSetting('picks', JSON.stringify({ ...picks, workspace: undefined }));
