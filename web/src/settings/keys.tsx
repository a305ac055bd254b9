import { Dialog } from '../ui/dialog.tsx';
import styles from './keys.module.css';

const mac = /Mac|iPhone|iPad/.test(navigator.platform);
const command = mac ? '⌘' : 'Ctrl';

const groups: readonly { title: string; keys: readonly (readonly [string, string])[] }[] = [
  {
    title: 'Anywhere',
    keys: [
      [`${command} K`, 'Go to a task or page'],
      ['C', 'New task'],
      ['/', 'Search tasks'],
      ['J  K', 'Next and previous task'],
      ['I', 'Inbox'],
      ['?', 'This help'],
      ['Esc', 'Close, or stop the agent in a task'],
    ],
  },
  {
    title: 'Writing',
    keys: [
      ['Enter', 'Send'],
      ['Shift Enter', 'New line'],
      ['↑', 'Your last message, when the field is empty'],
    ],
  },
  {
    title: 'Permissions',
    keys: [
      [`${command} Enter`, 'Allow once'],
      [`${command} Shift ${mac ? '⌫' : 'Backspace'}`, 'Deny'],
    ],
  },
];

export function KeysTable() {
  return (
    <div className={styles.groups}>
      {groups.map((g) => (
        <section key={g.title}>
          <h3>{g.title}</h3>
          <dl>
            {g.keys.map(([keys, what]) => (
              <div key={what}>
                <dt>
                  {keys.split(/ +/).map((k) => (
                    <kbd key={k}>{k}</kbd>
                  ))}
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  );
}

export function KeysHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <KeysTable />
    </Dialog>
  );
}
