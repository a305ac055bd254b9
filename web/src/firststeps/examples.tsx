import type { OfferList } from '../app/types.ts';
import { agentOf, type Picks } from '../tasks/choices.ts';
import styles from './firststeps.module.css';

const scripted = ['help', 'list', 'write notes.md: hello'];
const inProject = [
  'Explain how this project is built and tested.',
  'Find a TODO comment, resolve it and say what you changed.',
  'Add a test for a function that has none.',
];
const inEmpty = [
  'Write a small web page that shows the time.',
  'Write a script that counts the words of a text file, with a test.',
];

/** Messages to begin with, as the chosen agent and project suggest. A press writes one into the field. */
export function Examples({
  offers,
  picks,
  onChoose,
}: {
  offers: OfferList;
  picks: Picks;
  onChoose: (message: string) => void;
}) {
  const agent = agentOf(offers, picks);
  const messages = agent?.scripted ? scripted : picks.project ? inProject : inEmpty;
  return (
    <section aria-label="Examples">
      {agent?.scripted && (
        <p className={styles.soft}>
          The demo agent is scripted: it knows some commands, and no language model answers.
        </p>
      )}
      <ul className={styles.examples}>
        {messages.map((message) => (
          <li key={message}>
            <button type="button" onClick={() => onChoose(message)}>
              {message}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
