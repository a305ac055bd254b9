import type { Announcement, AnnouncementLevel } from '@bellhop/client';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { api } from '../app/http.ts';
import type { OfferList } from '../app/types.ts';
import { readSetting, writeSetting } from '../settings/store.ts';
import { useOffers } from '../tasks/api.ts';

const dismissedSetting = 'dismissed-announcements';

/** Ids that were dismissed in this browser, the newest last. */
export function readDismissed(): string[] {
  try {
    const ids: unknown = JSON.parse(readSetting(dismissedSetting) ?? '[]');
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
}

/** The announcements to show at a time: neither expired nor dismissed. */
export function visible(list: Announcement[], dismissed: readonly string[], now: number): Announcement[] {
  return list.filter((a) => Date.parse(a.expiresAt) > now && !dismissed.includes(a.announcementId));
}

/** The longest delay of a timer of browsers. */
const longestTimer = 2 ** 31 - 1;

/** The announcements that hold and were not dismissed. Each disappears when its time is over. */
export function useAnnouncements() {
  const { data } = useQuery({
    queryKey: ['announcements'],
    queryFn: async ({ signal }) =>
      (await api<{ announcements: Announcement[] }>('GET', '/api/announcements', undefined, signal)).announcements,
    refetchInterval: 5 * 60_000, // the feed reports changes; this is for a browser that missed one
  });
  const [dismissed, setDismissed] = useState(readDismissed);
  const [now, setNow] = useState(Date.now);
  const shown = useMemo(() => visible(data ?? [], dismissed, now), [data, dismissed, now]);
  const next = Math.min(...(data ?? []).map((a) => Date.parse(a.expiresAt)).filter((end) => end > now));
  useEffect(() => {
    if (next === Infinity || next <= now) return;
    const left = Math.max(next - Date.now(), 0) + 1;
    const timer = setTimeout(() => setNow(Date.now()), Math.min(left, longestTimer));
    return () => clearTimeout(timer);
  }, [next, now]);
  const dismiss = (id: string) => {
    const ids = [...readDismissed().filter((other) => other !== id), id].slice(-50);
    writeSetting(dismissedSetting, JSON.stringify(ids));
    setDismissed(ids);
  };
  return { shown, dismiss };
}

/** A notice of a host about itself. */
export interface HostNotice {
  key: string;
  level: AnnouncementLevel;
  text: string;
}

/** What the hosts that can be reached say about themselves, with their names. */
export function noticesOf(list: OfferList | undefined): HostNotice[] {
  const online = (list?.hosts ?? []).filter((h) => h.online);
  return online.flatMap((h) =>
    (h.offer?.notices ?? []).map((n) => ({ key: `${h.hostId} ${n.id}`, level: n.level, text: `${h.name}: ${n.text}` })),
  );
}

/** The notices of hosts. One that was dismissed is away until the page is loaded again. */
export function useHostNotices() {
  const list = useOffers(60_000).data;
  const [dismissed, setDismissed] = useState<readonly string[]>([]);
  const shown = useMemo(() => noticesOf(list).filter((n) => !dismissed.includes(n.key)), [list, dismissed]);
  return { shown, dismiss: (key: string) => setDismissed([...dismissed, key]) };
}
