import type { ComponentProps, ReactNode } from 'react';
import type { IconName } from '../ui/icon.tsx';
import { Empty, Page } from '../ui/page.tsx';
import { useMe } from './session.ts';

/** A page for administrators. Other users see the refusal instead of the page's content and actions. */
export function AdminPage({
  refusal,
  ...page
}: ComponentProps<typeof Page> & { refusal: { icon: IconName; title: string; text: ReactNode } }) {
  const me = useMe().data;
  if (!me || me.admin) return <Page {...page} />;
  return (
    <Page title={page.title}>
      <Empty icon={refusal.icon} title={refusal.title}>
        <p>{refusal.text}</p>
      </Empty>
    </Page>
  );
}
