import type { OfferedAgent, OfferedProject, OfferingHost, OfferList, PermissionMode } from '../app/types.ts';

/** Where and how a new task runs. "" leaves it to the broker or the host. */
export interface Picks {
  agent: string;
  model: string;
  project: string;
  hostId: string;
  /** Of the project; the task starts from it. */
  branch: string;
  /** A value of workspaceChoices. */
  workspace: string;
  mode: PermissionMode;
}

export interface Choice {
  value: string;
  label: string;
  /** Why it cannot be chosen, or what it lacks. */
  note?: string;
  disabled?: boolean;
}

export interface Choices {
  agents: Choice[];
  models: Choice[];
  projects: Choice[];
  hosts: Choice[];
}

/** What can be chosen for a task, of all hosts or of the chosen one. */
export function choicesOf({ hosts }: OfferList, { agent, hostId }: Pick<Picks, 'agent' | 'hostId'>): Choices {
  const offering = hostId ? hosts.filter((h) => h.hostId === hostId) : hosts;
  return {
    agents: [
      ...group(
        offering.flatMap((h) => h.offer?.agents ?? []),
        (a) => a.id,
      ),
    ]
      .map(([, same]) => agentChoice(same))
      .sort(enabledFirst),
    models: [
      ...group(
        offering.flatMap((h) => modelsOf(h, agent)),
        (m) => m.id,
      ),
    ].map(([id, [model]]) => ({
      value: id,
      label: model.name || id,
    })),
    projects: [
      ...group(
        offering.flatMap((h) => h.offer?.projects ?? []),
        (p) => p.name,
      ),
    ]
      .map(([, same]) => projectChoice(same))
      .sort(enabledFirst),
    hosts: hosts.map((h) => hostChoice(h, agent)),
  };
}

/** A list with at least one element. */
type NonEmpty<T> = [T, ...T[]];

function group<T>(all: readonly T[], key: (one: T) => string): Map<string, NonEmpty<T>> {
  const groups = new Map<string, NonEmpty<T>>();
  for (const one of all) {
    const same = groups.get(key(one));
    if (same) same.push(one);
    else groups.set(key(one), [one]);
  }
  return groups;
}

const enabledFirst = (a: Choice, b: Choice) =>
  Number(a.disabled ?? false) - Number(b.disabled ?? false) || a.label.localeCompare(b.label);

/** The note wherever an agent is chosen that no language model answers for. */
export const scriptedNote = 'It follows a script: no language model answers';

function agentChoice(same: NonEmpty<OfferedAgent>): Choice {
  const installed = same.filter((a) => a.installed);
  const best = installed.find((a) => a.hasKey !== false) ?? installed[0];
  if (!best) {
    const [first] = same;
    return {
      value: first.id,
      label: `${first.title} (not installed)`,
      note: first.hint ?? first.problem,
      disabled: true,
    };
  }
  const label = [best.title, best.version].filter(Boolean).join(' ');
  if (best.scripted) return { value: best.id, label, note: scriptedNote };
  return best.hasKey === false
    ? { value: best.id, label: `${label} (no key)`, note: 'The host has no key of its language model' }
    : { value: best.id, label };
}

/** The agent of tasks that name none, if all hosts agree. */
export function defaultAgent({ hosts, defaultAgent: own }: OfferList, hostId: string): OfferedAgent | undefined {
  const offering = hosts.filter((h) => h.offer && (!hostId || h.hostId === hostId));
  const [first, ...others] = new Set(offering.map((h) => own ?? h.offer?.defaultAgent));
  if (first === undefined || others.length > 0) return undefined;
  return offering.flatMap((h) => h.offer?.agents ?? []).find((a) => a.id === first);
}

/** The agent of a task, as its host offers it. */
export function agentOf(list: OfferList, { agent, hostId }: Pick<Picks, 'agent' | 'hostId'>): OfferedAgent | undefined {
  if (!agent) return defaultAgent(list, hostId);
  const offering = list.hosts.filter((h) => !hostId || h.hostId === hostId);
  return offering.flatMap((h) => h.offer?.agents ?? []).find((a) => a.id === agent);
}

function projectChoice(same: NonEmpty<OfferedProject>): Choice {
  const usable = same.find((p) => !p.problem);
  if (!usable)
    return { value: same[0].name, label: `${same[0].name} (unreadable)`, note: same[0].problem, disabled: true };
  return { value: usable.name, label: usable.defaultBranch ? `${usable.name} (${usable.defaultBranch})` : usable.name };
}

function hostChoice(host: OfferingHost, agent: string): Choice {
  const choice = { value: host.hostId, label: host.name };
  if (!host.online) return { ...choice, label: `${host.name} (offline)`, note: host.problem };
  const wanted = host.offer?.agents.find((a) => a.id === agent);
  if (!host.offer || !agent || wanted?.installed) return choice;
  return { ...choice, label: `${host.name} (without ${wanted?.title ?? agent})`, disabled: true };
}

function modelsOf(host: OfferingHost, agent: string) {
  return host.offer?.agents.find((a) => a.id === agent && a.installed)?.models ?? [];
}

/** The branches that a new task can start from. */
export interface Branches {
  /** The latest commit first. */
  names: string[];
  /** Where a task starts that names none; "" where hosts differ. */
  unset: string;
  /** Whether the project can have branches beside these. */
  more: boolean;
}

/** The most branches of a project that a host lists. */
const listedBranches = 200;

/** The branches of the chosen project, on the chosen host or on any; null where tasks start from none. */
export function branchesOf(
  { hosts }: OfferList,
  { project, hostId, workspace }: Pick<Picks, 'project' | 'hostId' | 'workspace'>,
): Branches | null {
  if (!project || workspace) return null;
  const offered = hosts
    .filter((h) => !hostId || h.hostId === hostId)
    .flatMap((h) => h.offer?.projects ?? [])
    .filter((p) => p.name === project && p.isRepository && !p.shared && p.branches.length > 0);
  if (offered.length === 0) return null;
  const [first, ...others] = new Set(offered.map((p) => p.defaultBranch ?? ''));
  return {
    names: [...new Set(offered.flatMap((p) => p.branches))],
    unset: others.length === 0 ? (first ?? '') : '',
    more: offered.some((p) => p.branches.length >= listedBranches),
  };
}

/** The picks without those that cannot be chosen, because hosts, agents and projects come and go. */
export function possible(list: OfferList, picks: Picks): Picks {
  const kept = { ...picks };
  const keep = (name: 'hostId' | 'agent' | 'project' | 'model', from: keyof Choices) => {
    if (!choicesOf(list, kept)[from].some((c) => c.value === kept[name] && !c.disabled)) kept[name] = '';
  };
  if (!list.hosts.some((h) => h.hostId === kept.hostId)) kept.hostId = '';
  keep('agent', 'agents');
  keep('project', 'projects');
  keep('model', 'models');
  const branches = branchesOf(list, kept);
  if (!branches?.more && !branches?.names.includes(kept.branch)) kept.branch = '';
  return kept;
}
