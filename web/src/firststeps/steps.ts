import type { OfferedAgent, OfferingHost, OfferList } from '../app/types.ts';

export type StepId = 'agent' | 'key' | 'project' | 'task' | 'notifications';

export interface Step {
  id: StepId;
  title: string;
  done: boolean;
  /** What makes it done, or why it matters. */
  text: string;
}

/** What the server knows about the user's beginning. */
export interface Facts {
  offers: OfferList;
  hasTask: boolean;
  isNotified: boolean;
}

/** An agent of a host. */
interface Offered {
  host: OfferingHost;
  agent: OfferedAgent;
}

/** The agents of all hosts that a language model answers for. */
export function realAgents({ hosts }: OfferList): Offered[] {
  return hosts.flatMap((host) =>
    (host.offer?.agents ?? []).filter((a) => !a.scripted).map((agent) => ({ host, agent })),
  );
}

/** The steps to the first work of an agent, each as the server knows it. */
export function stepsOf({ offers, hasTask, isNotified }: Facts): Step[] {
  const agents = realAgents(offers);
  const installed = agents.filter(({ agent }) => agent.installed);
  const keyed = installed.filter(({ agent }) => agent.hasKey !== false);
  const projects = offers.hosts.flatMap((h) => h.offer?.projects ?? []).filter((p) => !p.problem);
  const names = (all: readonly Offered[]) =>
    all
      .map(({ host, agent }) => `${[agent.title, agent.version].filter(Boolean).join(' ')} on ${host.name}`)
      .join(', ');
  return [
    {
      id: 'agent',
      title: 'Install an agent',
      done: installed.length > 0,
      text:
        installed.length > 0
          ? names(installed)
          : 'The demo agent follows a script. A real one works with a language model.',
    },
    {
      id: 'key',
      title: 'Give it a key of its language model',
      done: keyed.length > 0,
      text:
        keyed.length > 0 ? `Found for ${names(keyed)}` : 'Keys stay on the host: agents get them from its environment.',
    },
    {
      id: 'project',
      title: 'Add a project',
      done: projects.length > 0,
      text:
        projects.length > 0
          ? [...new Set(projects.map((p) => p.name))].join(', ')
          : 'Each task works in its own clone of it. Without one, a task begins in an empty directory.',
    },
    {
      id: 'task',
      title: 'Start a task',
      done: hasTask,
      text: hasTask ? 'You have started one' : 'Say what you want done; the changes are shown beside the conversation.',
    },
    {
      id: 'notifications',
      title: 'Get notified',
      done: isNotified,
      text: isNotified ? 'A browser of yours is notified' : 'An agent that waits for you, or has finished, rings.',
    },
  ];
}

/** The variables of which one gives the installed agents, or else all, their key: each agent's own first. */
export function missingKeys(offers: OfferList): { agent: string; variable: string }[] {
  const agents = realAgents(offers);
  const installed = agents.filter(({ agent }) => agent.installed);
  const wanted = installed.length > 0 ? installed : agents;
  const found = new Map<string, string>();
  for (const { agent } of wanted) {
    const variable = agent.keys?.[0];
    if (variable && agent.hasKey === false && !found.has(agent.title)) found.set(agent.title, variable);
  }
  return [...found].map(([agent, variable]) => ({ agent, variable }));
}

/** The hosts on which administrators can install something that is missing. */
export const installingHosts = ({ hosts }: OfferList): OfferingHost[] =>
  hosts.filter((h) => h.online && h.offer?.agents.some((a) => a.program && !a.installed));
