import { useState } from 'react';
import { AdminPage } from '../auth/admin.tsx';
import { useIsAdmin, useMe } from '../auth/session.ts';
import { useTitle } from '../inbox/attention.ts';
import { SignIns } from '../settings/signins.tsx';
import { StateBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { useDeleteUser, useResetFactor, useSetDisabled, useUsers, type Account } from './api.ts';
import { Table } from '../ui/table.tsx';
import styles from '../ui/table.module.css';

/** Who may sign in. Users are created with a command, which takes their first password. */
export function UsersPage() {
  useTitle('Users');
  const query = useUsers(useIsAdmin());
  const setDisabled = useSetDisabled();
  const remove = useDeleteUser();
  const resetFactor = useResetFactor();
  const me = useMe().data;
  const [shown, setShown] = useState<Account | null>(null);
  const error = setDisabled.error ?? remove.error ?? resetFactor.error;
  const forget = () => {
    for (const change of [setDisabled, remove, resetFactor]) change.reset();
  };
  return (
    <AdminPage
      title="Users"
      refusal={{
        icon: 'user',
        title: 'Only administrators manage users',
        text: 'Your own account is in the settings.',
      }}
      lead={
        <>
          Who may sign in. Create users with <code>bellhop users add</code>.
        </>
      }
    >
      <QueryStatus query={query} loading="users" failed="The users could not be loaded" />
      {error && <Failure what="The user was not changed" error={error} />}
      {query.data && (
        <Table columns={['E-mail', 'State']} actions>
          {query.data.pages
            .flatMap((page) => page.users)
            .map((user) => (
              <UserRow
                key={user.id}
                user={user}
                onSignIns={() => setShown(user)}
                self={user.id === me?.id}
                onDisabled={(disabled) => {
                  forget();
                  setDisabled.mutate({ id: user.id, disabled });
                }}
                onDelete={() => {
                  forget();
                  remove.mutate(user.id);
                }}
                onReset={() => {
                  forget();
                  resetFactor.mutate(user.id);
                }}
              />
            ))}
        </Table>
      )}
      {query.hasNextPage && <Button onClick={() => void query.fetchNextPage()}>Show more users</Button>}
      {shown && (
        <Dialog title={`Where ${shown.email} is signed in`} onClose={() => setShown(null)}>
          <SignIns path={`/api/users/${shown.id}/sign-ins`} />
        </Dialog>
      )}
    </AdminPage>
  );
}

function UserRow({
  user,
  self,
  onSignIns,
  onDisabled,
  onDelete,
  onReset,
}: {
  user: Account;
  /** The user is the administrator who looks at the page. */
  self: boolean;
  onSignIns: () => void;
  onDisabled: (disabled: boolean) => void;
  onDelete: () => void;
  onReset: () => void;
}) {
  return (
    <tr>
      <td>
        <strong>{user.email}</strong>
        {user.admin && <div className={styles.soft}>administrator</div>}
        {user.secondFactor && <div className={styles.soft}>with a second factor</div>}
      </td>
      <td data-label="State">
        {user.disabledAt ? (
          <StateBadge state={{ tone: 'soft', label: 'Disabled' }} />
        ) : (
          <StateBadge state={{ tone: 'good', icon: 'check', label: 'May sign in' }} />
        )}
      </td>
      <td>
        <div className={styles.row}>
          <Button small onClick={onSignIns} aria-label={`Sign-ins of ${user.email}`}>
            Sign-ins
          </Button>
          {user.secondFactor && !self && (
            <ConfirmButton
              label="Reset second factor"
              title={`Reset the second factor of ${user.email}?`}
              action="Reset second factor"
              onConfirm={onReset}
              text={<p>Their password alone signs in until they turn it on again. Make sure who asks for it.</p>}
            />
          )}
          {user.disabledAt ? (
            <Button small onClick={() => onDisabled(false)} aria-label={`Enable ${user.email}`}>
              Enable
            </Button>
          ) : (
            <ConfirmButton
              label="Disable"
              title={`Disable ${user.email}?`}
              action="Disable user"
              onConfirm={() => onDisabled(true)}
              text={<p>Their sign-ins and API tokens end for good. Tasks stay, and turns that run go on.</p>}
            />
          )}
          <ConfirmButton
            label="Delete"
            title={`Delete ${user.email}?`}
            action="Delete user"
            onConfirm={onDelete}
            text={<p>Their tasks, notebooks and webhooks are erased, and agents that work for them are stopped.</p>}
          />
        </div>
      </td>
    </tr>
  );
}
