import { useState } from 'react';
import { config } from '../app/config.ts';
import { useMe, useSignOut } from '../auth/session.ts';
import { FirstStepsSetting } from '../firststeps/setting.tsx';
import { useTitle } from '../inbox/attention.ts';
import { notificationsOn, setNotifications } from '../inbox/notify.ts';
import { ShareTable } from '../shares/table.tsx';
import { Button } from '../ui/button.tsx';
import { Page } from '../ui/page.tsx';
import { toast } from '../ui/toast.tsx';
import { SecondFactor } from './factor.tsx';
import { ForgeTokens } from './forges.tsx';
import { Browsers } from './notifications.tsx';
import { Password } from './password.tsx';
import { KeysTable } from './keys.tsx';
import { SignIns } from './signins.tsx';
import { currentTheme, setTheme, themes, type Theme } from './theme.ts';
import styles from './settings.module.css';

const names: Record<Theme, string> = { system: 'Like the system', light: 'Light', dark: 'Dark' };

export function SettingsPage() {
  useTitle('Settings');
  const me = useMe().data;
  const signOut = useSignOut();
  const [theme, choose] = useState(currentTheme());
  const [notify, setNotify] = useState(notificationsOn());
  const toggle = async (on: boolean) => {
    const now = await setNotifications(on);
    setNotify(now);
    if (on && !now) toast('Your browser does not let this page notify you; allow it beside the address');
  };
  return (
    <Page title="Settings">
      <fieldset className={styles.section}>
        <legend>Appearance</legend>
        <div className={styles.themes}>
          {themes.map((t) => (
            <label key={t} className={styles.theme}>
              <input
                type="radio"
                name="theme"
                value={t}
                checked={theme === t}
                onChange={() => {
                  setTheme(t);
                  choose(t);
                }}
              />
              {names[t]}
            </label>
          ))}
        </div>
      </fieldset>
      <FirstStepsSetting />
      <fieldset className={styles.section}>
        <legend>Notifications</legend>
        <label className={styles.check}>
          <input type="checkbox" checked={notify} onChange={(e) => void toggle(e.target.checked)} />
          <span>
            Notify me when an agent waits for me or has finished
            <small>Only while no tab of this page is in front. They stay in this browser.</small>
          </span>
        </label>
      </fieldset>
      <Browsers />
      <section className={styles.section}>
        <h2>Keyboard</h2>
        <KeysTable />
      </section>
      <section className={styles.section}>
        <h2>Account</h2>
        <p>
          Signed in as <strong>{me?.email}</strong>
          {me?.admin && ', an administrator'}.
        </p>
        <Button onClick={() => signOut.mutate()}>Sign out</Button>
        <h3>Password</h3>
        <Password email={me?.email ?? ''} />
        <h3>Second factor</h3>
        <SecondFactor email={me?.email ?? ''} />
        <h3>Forges</h3>
        <ForgeTokens />
        <h3>Where you are signed in</h3>
        <SignIns path="/api/auth/sign-ins" />
        <h3>Share links</h3>
        <ShareTable />
        <p className={styles.version}>Bellhop {config.version}</p>
      </section>
    </Page>
  );
}
