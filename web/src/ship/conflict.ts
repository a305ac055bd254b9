import type { RemoteState } from '@bellhop/client';

/** What the agent is asked when the remote has commits that the task's branch has not. */
export function mergePrompt(branch: string, remote: Pick<RemoteState, 'base' | 'diverged'>): string {
  const other = remote.diverged ? branch : (remote.base ?? '');
  const why = remote.diverged
    ? 'This branch has other commits at the remote, so mine are refused.'
    : 'It has moved since you began.';
  return (
    `Please merge the branch ${other} of the remote origin into your branch ${branch}. ${why} ` +
    `Run "git fetch origin", then "git merge origin/${other}". Resolve conflicts so that both changes keep their ` +
    'meaning, run the tests, and commit the merge. Do not rebase, and do not push: I push myself.'
  );
}

/** How much of a branch is pushed, in a few words; "" when nothing needs to be. */
export function pushState({ ahead, pushed }: Pick<RemoteState, 'ahead' | 'pushed'>): string {
  if (ahead > 0) return ahead === 1 ? '1 commit is not pushed' : `${ahead} commits are not pushed`;
  return pushed ? 'Pushed' : '';
}
