import type { UserFeedEvent } from '@bellhop/client';
import { useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useRouter, type AnyRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { setStopping } from '../../announcements/stopping.ts';
import { notificationsOn, notifyChange } from '../../inbox/notify.ts';
import { announce } from '../../notebooks/unread.ts';
import { applyHint, lacksTurn, refreshTask } from '../../tasks/cache.ts';
import { client } from '../http.ts';
import { join, type Member } from './leader.ts';

/**
 * Applies the user's feed to the cached lists: one connection per browser, and none from hidden tabs unless
 * notifications are wanted.
 */
export function useUserFeed() {
  const queries = useQueryClient();
  const router: AnyRouter = useRouter();
  useEffect(() => {
    let member: Member | undefined;
    const update = () => {
      const wanted = document.visibilityState === 'visible' || notificationsOn();
      if (wanted && !member) {
        member = join<UserFeedEvent>({
          name: 'bellhop-user-feed',
          onMessage: (frame) => handle(queries, router, frame),
          lead: async (publish, signal) => {
            try {
              for await (const frame of client.userFeed({ signal })) publish(frame);
            } catch {
              // Either this tab stopped the feed or the session has ended. Requesting the user shows which.
              if (!signal.aborted) void queries.invalidateQueries({ queryKey: ['me'] });
            }
          },
        });
      } else if (!wanted && member) {
        member.leave();
        member = undefined;
      }
    };
    update();
    document.addEventListener('visibilitychange', update);
    return () => {
      document.removeEventListener('visibilitychange', update);
      member?.leave();
    };
  }, [queries, router]);
}

function handle(queries: QueryClient, router: AnyRouter, frame: UserFeedEvent) {
  switch (frame.type) {
    case 'bye':
      setStopping(true);
      return;
    case 'hello':
      setStopping(false);
      // The leader has connected again. The feed does not repeat what changed before, so the lists are read again.
      for (const hint of frame.data.tasks) applyHint(queries, hint);
      void queries.invalidateQueries({ queryKey: ['announcements'] });
      void queries.invalidateQueries({ queryKey: ['tasks'] });
      void queries.invalidateQueries({ queryKey: ['interactions'] });
      void queries.invalidateQueries({ queryKey: ['notebooks'] });
      void queries.invalidateQueries({ queryKey: ['sources'] });
      return;
    case 'task': {
      const hint = frame.data;
      const isBehind = lacksTurn(queries, hint);
      const before = applyHint(queries, hint);
      if (isBehind) refreshTask(queries, hint.taskId);
      if (!before || before.openInteractions !== hint.openInteractions)
        void queries.invalidateQueries({ queryKey: ['interactions'] });
      notifyChange(before, hint);
      return;
    }
    case 'announcements':
      void queries.invalidateQueries({ queryKey: ['announcements'] });
      return;
    case 'agent':
      announce(queries, frame.data, router.state.location.pathname, (sourceId) => {
        void router.navigate({ to: '/sources/$sourceId', params: { sourceId } });
      });
      void queries.invalidateQueries({ queryKey: ['notebooks'] });
      void queries.invalidateQueries({ queryKey: ['deliveries'] });
      // Without a source the notebook connection changed. All of its sources show its state.
      void queries.invalidateQueries({
        queryKey: frame.data.sourceId ? ['sources', frame.data.sourceId] : ['sources'],
      });
  }
}
