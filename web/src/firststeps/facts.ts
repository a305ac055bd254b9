import { useQuery } from '@tanstack/react-query';
import { api } from '../app/http.ts';
import { useNotifications } from '../inbox/push.ts';
import { useSetting } from '../settings/choice.ts';
import { useOffers, useTasks } from '../tasks/api.ts';
import type { TaskPage } from '../tasks/cache.ts';
import { stepsOf, type Step } from './steps.ts';

/** How often the hosts are looked at while a step is open, so that it ticks itself. */
const lookEvery = 10_000;

/** The first steps as the server knows them; undefined while they are read, or if they cannot be. */
export function useSteps(): Step[] | undefined {
  const offers = useOffers(lookEvery).data;
  const notifications = useNotifications().data;
  const shown = useTasks('', false).data?.pages[0];
  const hasShown = (shown?.tasks.length ?? 0) > 0;
  const archived = useQuery({
    queryKey: ['archived-task'],
    enabled: shown !== undefined && !hasShown,
    queryFn: ({ signal }) => api<TaskPage>('GET', '/api/tasks?limit=1&archived=true', undefined, signal),
  }).data;
  if (!offers || !notifications || !shown || (!hasShown && !archived)) return undefined;
  const hasTask = hasShown || (archived?.tasks.length ?? 0) > 0;
  return stepsOf({ offers, hasTask, isNotified: notifications.subscriptions.length > 0 });
}

/** Whether the user wants to see the first steps in this browser. */
export const useFirstSteps = () => useSetting('first-steps', ['shown', 'hidden']);
