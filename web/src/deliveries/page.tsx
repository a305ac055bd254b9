import { useState } from 'react';
import type { DeliverySubject } from '@bellhop/client';
import { useTitle } from '../inbox/attention.ts';
import { StateBadge, type State } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Icon } from '../ui/icon.tsx';
import { Empty, Page } from '../ui/page.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { Ago } from '../ui/time.tsx';
import { Attempts } from './attempts.tsx';
import { useDeliveries, useRetryDelivery, type Delivery, type DeliveryState } from './api.ts';
import { Webhooks } from './webhooks.tsx';
import styles from './deliveries.module.css';

const filters: readonly { value: '' | DeliveryState; label: string }[] = [
  { value: '', label: 'All' },
  { value: 'queued', label: 'Waiting' },
  { value: 'delivered', label: 'Delivered' },
  { value: 'failed', label: 'Failed' },
  { value: 'expired', label: 'Expired' },
];

const badges: Record<DeliveryState, State> = {
  delivered: { tone: 'good', icon: 'check', label: 'Delivered' },
  queued: { tone: 'busy', label: 'Waiting' },
  held: { tone: 'wait', icon: 'warn', label: 'Held back' },
  failed: { tone: 'bad', icon: 'warn', label: 'Failed' },
  expired: { tone: 'soft', icon: 'close', label: 'Expired' },
};

/** The webhooks of the user and the deliveries to them. */
export function DeliveriesPage() {
  useTitle('Deliveries');
  const [state, setState] = useState<'' | DeliveryState>('');
  const query = useDeliveries(state);
  const list = query.data?.pages.flatMap((p) => p.deliveries) ?? [];
  return (
    <Page
      title="Deliveries"
      lead="Events that Bellhop sends to your other programs, signed and repeated until they arrive."
    >
      <Webhooks />
      <h2 className={styles.h2}>
        Log
        <span className={styles.filters} role="group" aria-label="Filter by state">
          {filters.map((s) => (
            <button key={s.label} type="button" aria-pressed={state === s.value} onClick={() => setState(s.value)}>
              {s.label}
            </button>
          ))}
        </span>
      </h2>
      <QueryStatus query={query} loading="deliveries" failed="The deliveries could not be loaded" />
      {query.data && list.length === 0 && (
        <Empty icon="truck" title="Nothing was delivered yet">
          <p>Every attempt to deliver an event to a webhook is listed here.</p>
        </Empty>
      )}
      {list.length > 0 && (
        <ul className={styles.list}>
          {list.map((d) => (
            <DeliveryRow key={d.id} delivery={d} />
          ))}
        </ul>
      )}
      {query.hasNextPage && (
        <Button kind="quiet" onClick={() => void query.fetchNextPage()}>
          Show older deliveries
        </Button>
      )}
    </Page>
  );
}

/** What a delivery to an agent is about. */
function Subject({ subject }: { subject: DeliverySubject }) {
  return (
    <>
      <bdi>{subject.question}</bdi> <small className={styles.soft}>about</small> <bdi>{subject.sourceTitle}</bdi>{' '}
      <small className={styles.soft}>to</small> <bdi>{subject.agentName}</bdi>
    </>
  );
}

function DeliveryRow({ delivery: d }: { delivery: Delivery }) {
  const [open, setOpen] = useState(false);
  const retry = useRetryDelivery();
  const last = d.attempts.at(-1);
  return (
    <li>
      <div className={styles.row}>
        <button type="button" className={styles.line} aria-expanded={open} onClick={() => setOpen(!open)}>
          <StateBadge state={badges[d.state]} />
          <span className={styles.event}>{d.subject ? <Subject subject={d.subject} /> : d.event}</span>
          <span className={styles.soft}>
            {d.attempts.length === 1 ? '1 attempt' : `${d.attempts.length} attempts`}
            {d.waiting && ', waits behind another question'}
            {last?.status ? `, answered ${last.status}` : last?.error ? `, ${last.error}` : ''}
          </span>
          <Ago at={d.createdAt} />
        </button>
        {d.state !== 'delivered' && (
          <Button small disabled={retry.isPending} onClick={() => retry.mutate(d.id)}>
            <Icon name="retry" size={13} />
            Retry
          </Button>
        )}
      </div>
      {retry.error && <Failure what="It was not queued again" error={retry.error} retry={() => retry.mutate(d.id)} />}
      {open && <Attempts delivery={d} />}
    </li>
  );
}
