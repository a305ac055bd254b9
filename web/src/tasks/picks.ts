import type { NewTask } from './api.ts';
import { readSetting, writeSetting } from '../settings/store.ts';
import type { Picks } from './choices.ts';
import { isMode } from './mode.tsx';

const nothing: Picks = { agent: '', model: '', project: '', hostId: '', branch: '', workspace: '', mode: 'ask' };

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
      branch: lastBranch(text('project')),
      workspace: '', // only one task at a time works in a workspace
      mode: isMode(mode) ? mode : 'ask',
    };
  } catch {
    return nothing;
  }
}

/** The picks of a filled template. What it leaves open stays as it was picked. */
export function picksOf({ agent, model, project, branch, hostId, permissionMode }: NewTask, picks: Picks): Picks {
  return {
    ...picks,
    ...(agent && { agent, model: model ?? '' }),
    ...(project && { project, branch: branch ?? lastBranch(project) }),
    ...(hostId && { hostId }),
    ...(permissionMode && { mode: permissionMode }),
    workspace: '',
  };
}

export function savePicks(picks: Picks) {
  writeSetting('picks', JSON.stringify({ ...picks, workspace: undefined, branch: undefined }));
  if (picks.project && !picks.workspace) saveBranch(picks.project, picks.branch);
}

/** How many projects are remembered with the branch that their last task started from. */
const rememberedProjects = 50;

function readBranches(): Map<string, string> {
  try {
    const kept: unknown = JSON.parse(readSetting('branches') ?? '[]');
    return new Map(
      (Array.isArray(kept) ? kept : []).filter(
        (pair): pair is [string, string] =>
          Array.isArray(pair) && pair.length === 2 && pair.every((text) => typeof text === 'string'),
      ),
    );
  } catch {
    return new Map();
  }
}

/** The branch that the last task of a project started from in this browser, "" for its default. */
export const lastBranch = (project: string): string => readBranches().get(project) ?? '';

function saveBranch(project: string, branch: string) {
  const kept = readBranches();
  kept.delete(project);
  if (branch) kept.set(project, branch);
  writeSetting('branches', JSON.stringify([...kept].slice(-rememberedProjects)));
}
