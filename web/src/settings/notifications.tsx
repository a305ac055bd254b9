import type { NotificationEvent, NotificationSubscription } from '@bellhop/client';
import { useMe } from '../auth/session.ts';
import { pushSupported, useChooseEvents, useNotifications, useRemoveBrowser, useTurnOn } from '../inbox/push.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Failure } from '../ui/failure.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { Ago } from '../ui/time.tsx';
import { browserName } from './signins.tsx';
import styles from './settings.module.css';

/** A record, so that the compiler names an event that is missing here. */
const names: Record<NotificationEvent, string> = {
  question: 'An agent waits for me',
  finished: 'A turn is over',
  failed: 'A turn has failed',
  followup: 'An agent answered about a source',
};
const events = Object.keys(names) as NotificationEvent[];

/** The browsers of the user that are notified while the console is closed. */
export function Browsers() {
  const query = useNotifications();
  const me = useMe().data;
  const turnOn = useTurnOn();
  const browsers = query.data?.subscriptions ?? [];
  const here = browsers.some((b) => b.current);
  return (
    <section className={styles.section}>
      <h2>Notifications while the console is closed</h2>
      <QueryStatus query={query} loading="browsers" failed="The browsers could not be loaded" />
      {turnOn.error && <Failure what="This browser will not be notified" error={turnOn.error} />}
      {!pushSupported() && (
        <p className={styles.soft}>
          This browser cannot be notified while the console is closed. On an iPhone or iPad, add the console to the home
          screen first.
        </p>
      )}
      {query.data && pushSupported() && !here && (
        <p>
          <Button disabled={turnOn.isPending} onClick={() => me && turnOn.mutate(me.id)}>
            Notify this browser
          </Button>
        </p>
      )}
      {browsers.length > 0 && (
        <ul className={styles.browsers} aria-label="Browsers that are notified">
          {browsers.map((b) => (
            <Browser key={b.id} of={b} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Browser({ of }: { of: NotificationSubscription }) {
  const choose = useChooseEvents();
  const remove = useRemoveBrowser();
  const name = browserName(of.browser);
  const chosen = choose.isPending ? choose.variables.events : of.events;
  return (
    <li>
      <div className={styles.browser}>
        <span title={of.browser}>
          <strong>{name}</strong>
          {of.current && ', this one'}
          <small>
            {of.lastDeliveredAt ? (
              <>
                Last notified <Ago at={of.lastDeliveredAt} />
              </>
            ) : (
              'Not notified yet'
            )}
            , by {of.service}
          </small>
        </span>
        <ConfirmButton
          label="Remove"
          title={`Stop notifying ${name}?`}
          action="Stop notifying"
          onConfirm={() => remove.mutate(of)}
          text={<p>It is notified only while a tab of the console is open there.</p>}
        />
      </div>
      <fieldset className={styles.events}>
        <legend>Notify {name} when</legend>
        {events.map((event) => (
          <label key={event} className={styles.check}>
            <input
              type="checkbox"
              checked={chosen.includes(event)}
              disabled={choose.isPending || (chosen.length === 1 && chosen.includes(event))}
              onChange={(e) =>
                choose.mutate({
                  id: of.id,
                  events: events.filter((x) => (x === event ? e.target.checked : chosen.includes(x))),
                })
              }
            />
            <span>{names[event]}</span>
          </label>
        ))}
      </fieldset>
      {choose.error && <Failure what="The choice was not stored" error={choose.error} />}
      {remove.error && <Failure what="The browser was not removed" error={remove.error} />}
    </li>
  );
}
