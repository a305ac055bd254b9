import type { RemoteState } from '@bellhop/client';

type Others = Pick<RemoteState, 'base' | 'diverged' | 'baseMoved'>;

/** The branches of the remote that have commits which the task's branch has not. */
export function othersOf(branch: string, { base, diverged, baseMoved }: Others): string[] {
  const others = [diverged ? branch : '', baseMoved ? (base ?? '') : ''];
  return others.filter((name, i) => name !== '' && others.indexOf(name) === i);
}

/**
 * What the agent is asked when the remote has commits that the task's branch has not. fetched says that the agent host
 * has brought them into the clone; otherwise the agent needs a way to the remote.
 */
export function mergePrompt(branch: string, remote: Others, fetched: boolean): string {
  const others = othersOf(branch, remote);
  const why = remote.diverged
    ? 'This branch has other commits at the remote, so mine are refused.'
    : 'It has moved since you began.';
  const commands = [...(fetched ? [] : ['git fetch origin']), ...others.map((name) => `git merge origin/${name}`)];
  return (
    `Please merge the ${others.length > 1 ? 'branches' : 'branch'} ${others.join(' and ')} of the remote origin into ` +
    `your branch ${branch}. ${why} ${fetched ? 'The commits are in your repository already. ' : ''}` +
    `Run ${commands.map((c) => `"${c}"`).join(', then ')}. Resolve conflicts so that both changes keep their meaning, ` +
    'run the tests, and commit the merge. Do not rebase, and do not push: I push myself.'
  );
}

/** How much of a branch is pushed, in a few words; "" when nothing needs to be. */
export function pushState({ ahead, pushed }: Pick<RemoteState, 'ahead' | 'pushed'>): string {
  if (ahead > 0) return ahead === 1 ? '1 commit is not pushed' : `${ahead} commits are not pushed`;
  return pushed ? 'Pushed' : '';
}
