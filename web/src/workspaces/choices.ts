import type { HostWorkspaceList } from '../app/types.ts';
import type { Choice, Picks } from '../tasks/choices.ts';

/** What a choice changes: a task in a workspace runs on the workspace's host and works on its project. */
type Place = Pick<Picks, 'workspace' | 'hostId' | 'project'>;

/** A value of the select. Names are unique on a host, and an id of a host has no slash. */
const choiceOf = (hostId: string, name: string) => `${hostId}/${name}`;

export const nameOf = (value: string) => value.slice(value.indexOf('/') + 1);

/** The workspaces in which a task can be started, on the chosen host and of the chosen project, or on any. */
export function workspaceChoices(
  { hosts }: HostWorkspaceList,
  { hostId, project }: Omit<Place, 'workspace'>,
): Choice[] {
  return hosts
    .filter((h) => !hostId || h.hostId === hostId)
    .flatMap((h) =>
      h.workspaces
        .filter((w) => !project || w.project === project)
        .map((w) => {
          const choice = { value: choiceOf(h.hostId, w.name), label: w.branch ? `${w.name} (${w.branch})` : w.name };
          return w.usedBy
            ? { ...choice, label: `${w.name} (in use)`, note: 'Another task works in it', disabled: true }
            : { ...choice, ...(w.dirty && { note: 'It has uncommitted changes' }) };
        }),
    );
}

/** The picks that follow from a chosen value: a workspace with its host and project. "" clears the workspace alone. */
export function placeOf({ hosts }: HostWorkspaceList, value: string): Partial<Place> {
  for (const h of hosts)
    for (const w of h.workspaces)
      if (choiceOf(h.hostId, w.name) === value) return { workspace: value, hostId: h.hostId, project: w.project };
  return { workspace: '' };
}

/** The workspace if it can still be chosen, else "". */
export const possibleWorkspace = (list: HostWorkspaceList | undefined, picks: Place): string =>
  list && workspaceChoices(list, picks).some((c) => c.value === picks.workspace && !c.disabled) ? picks.workspace : '';
