import { useState, type FormEvent } from 'react';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { Field } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { Secret } from '../ui/secret.tsx';
import type { WebhookFormat } from '@bellhop/client';
import type { WebhookEvent } from '../app/types.ts';
import {
  formats,
  useAddWebhook,
  useChangeWebhook,
  useRotateWebhook,
  useWebhooks,
  webhookEvents,
  type Webhook,
} from './api.ts';
import table from '../ui/table.module.css';
import styles from './deliveries.module.css';

/** The webhooks of the user and the events that each one gets. */
export function Webhooks() {
  const query = useWebhooks();
  const change = useChangeWebhook();
  const rotate = useRotateWebhook();
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<{ webhook: Webhook; what: string } | null>(null);
  return (
    <section aria-label="Webhooks" className={styles.webhooks}>
      <h2 className={styles.h2}>
        Webhooks{' '}
        <Button small onClick={() => setAdding(true)}>
          <Icon name="plus" size={13} />
          Add webhook
        </Button>
      </h2>
      {made?.webhook.secret && <Secret what={made.what} value={made.webhook.secret} onDone={() => setMade(null)} />}
      <QueryStatus query={query} loading="webhooks" failed="The webhooks could not be loaded" />
      {change.error && <Failure what="The webhook was not changed" error={change.error} />}
      {rotate.error && <Failure what="The secret was not replaced" error={rotate.error} />}
      {query.data?.length === 0 && (
        <p className={styles.soft}>None yet. Add one to get finished turns and open questions in another program.</p>
      )}
      {query.data && query.data.length > 0 && (
        <ul className={styles.list}>
          {query.data.map((w) => (
            <li key={w.id} className={styles.row}>
              <span className={styles.url}>
                {w.url}
                <small>
                  {w.format ? `${formats[w.format]?.name ?? w.format}: ` : ''}
                  {w.events.join(', ')}
                </small>
              </span>
              {w.disabled && (
                <>
                  <Badge tone="bad" icon="warn">
                    Switched off after failures
                  </Badge>
                  <Button small onClick={() => change.mutate({ id: w.id, to: 'enable' })}>
                    Switch on
                  </Button>
                </>
              )}
              <ConfirmButton
                label="Replace secret"
                title={`Replace the secret of the webhook to ${w.url}?`}
                action="Replace secret"
                onConfirm={() =>
                  rotate.mutate(w.id, {
                    onSuccess: (webhook) =>
                      setMade({
                        webhook,
                        what: `This is the new secret for ${w.url}. The former one signs too for 24 hours.`,
                      }),
                  })
                }
                text={
                  <p>For 24 hours both secrets sign what is sent there. Give the new one to the receiver until then.</p>
                }
              />
              <ConfirmButton
                label="Remove"
                title={`Remove the webhook to ${w.url}?`}
                action="Remove webhook"
                onConfirm={() => change.mutate({ id: w.id, to: 'remove' })}
                text={<p>Nothing more is sent there, and its deliveries leave the log.</p>}
              />
            </li>
          ))}
        </ul>
      )}
      {adding && (
        <Dialog title="Add a webhook" onClose={() => setAdding(false)}>
          <AddWebhook
            onDone={(webhook) => {
              setAdding(false);
              if (webhook) setMade({ webhook, what: 'The webhook is ready. This secret signs what it gets.' });
            }}
          />
        </Dialog>
      )}
    </section>
  );
}

function AddWebhook({ onDone }: { onDone: (made: Webhook | null) => void }) {
  const [url, setUrl] = useState('');
  const [format, setFormat] = useState<WebhookFormat>('');
  const [events, setEvents] = useState<readonly WebhookEvent[]>(['turn.finished', 'interaction.opened']);
  const add = useAddWebhook();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate({ url, events, format }, { onSuccess: onDone });
  };
  return (
    <form className={table.form} onSubmit={submit}>
      <Field label="Format" hint="What the service takes. Its messages are signed like all others.">
        {(id) => (
          <select id={id} value={format} onChange={(e) => setFormat(e.target.value as WebhookFormat)}>
            {Object.entries(formats).map(([value, { name }]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="URL" hint="A public https address; an operator can allow more.">
        {(id) => (
          <input
            id={id}
            type="url"
            required
            autoFocus
            placeholder={formats[format].example}
            value={url}
            onChange={(e) => setUrl(e.target.value)}
          />
        )}
      </Field>
      <fieldset className={table.checks}>
        <legend>Events</legend>
        {webhookEvents.map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={events.includes(name)}
              onChange={(e) => setEvents(e.target.checked ? [...events, name] : events.filter((x) => x !== name))}
            />
            {name}
          </label>
        ))}
      </fieldset>
      {add.error && <Failure what="The webhook was not added" error={add.error} />}
      <div className={table.row}>
        <Button onClick={() => onDone(null)}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={events.length === 0 || add.isPending}>
          Add webhook
        </Button>
      </div>
    </form>
  );
}
