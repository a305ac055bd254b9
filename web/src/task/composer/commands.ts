import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../../app/http.ts';
import type { Command, CommandList, Task } from '../../app/types.ts';
import { cachedTasks } from '../../tasks/cache.ts';
import type { Option } from '../../ui/options.tsx';

/** How many tasks are asked for commands, and how many commands are shown. */
const most = { tasks: 3, shown: 50 };

/** The slash commands of the first of these tasks whose agent has named any. */
export function useCommands(tasks: readonly string[]) {
  return useQuery({
    queryKey: ['commands', ...tasks],
    enabled: tasks.length > 0,
    staleTime: 5000,
    retry: false,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      for (const id of tasks) {
        const list = await api<CommandList>('GET', `/api/tasks/${id}/commands`, undefined, signal);
        if (list.commands.length > 0) return list;
      }
      return { commands: [] };
    },
  });
}

/** Returns the tasks whose hosts can list the slash commands of an agent in a project: this one, and those of the same
 * kind with turns, the last one first. */
export function useCommandTasks(kind: Pick<Task, 'agent' | 'project' | 'hostId'>, own?: string): () => string[] {
  const client = useQueryClient();
  return () => tasksLike([...cachedTasks(client)], kind, own);
}

export function tasksLike(
  tasks: readonly Task[],
  { agent, project, hostId }: Pick<Task, 'agent' | 'project' | 'hostId'>,
  own?: string,
): string[] {
  const like = tasks
    .filter((t) => t.lastTurn && t.agent === agent && t.project === project && (!hostId || t.hostId === hostId))
    .sort((a, b) => b.lastActivityAt.localeCompare(a.lastActivityAt))
    .map((t) => t.id);
  return [...new Set(own ? [own, ...like] : like)].slice(0, most.tasks);
}

/** The commands that match the typed letters: names that begin with it are first. */
export function matching(commands: readonly Command[], query: string): Command[] {
  const q = query.toLowerCase();
  const rank = ({ name }: Command) => {
    const at = name.toLowerCase().indexOf(q);
    return at > 0 ? 1 : at;
  };
  return commands
    .filter((c) => rank(c) >= 0)
    .sort((a, b) => rank(a) - rank(b) || Number(b.name === query) - Number(a.name === query))
    .slice(0, most.shown);
}

export const optionOf = ({ name, description, arguments: args }: Command): Option => ({
  value: name,
  label: args ? `/${name} ${args}` : `/${name}`,
  ...(description && { note: description }),
});
