import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { readAgain } from '../app/again.ts';
import { api } from '../app/http.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Failure } from '../ui/failure.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { Ago } from '../ui/time.tsx';
import { Table } from '../ui/table.tsx';
import styles from '../ui/table.module.css';

interface SignIn {
  id: string;
  userAgent: string;
  address: string;
  beganAt: string;
  lastUsedAt: string;
  expiresAt: string;
  current: boolean;
}

/** Where a user is signed in. path lists the sign-ins; the page's own cannot be ended here. */
export function SignIns({ path }: { path: string }) {
  const client = useQueryClient();
  const query = useQuery({
    queryKey: ['sign-ins', path],
    queryFn: async ({ signal }) => (await api<{ signIns: SignIn[] }>('GET', path, undefined, signal)).signIns,
  });
  const end = useMutation({
    mutationFn: (id: string) => api('DELETE', `${path}/${id}`),
    onSettled: () => readAgain(client, ['sign-ins', path]),
  });
  return (
    <>
      <QueryStatus query={query} loading="sign-ins" failed="The sign-ins could not be loaded" />
      {end.error && <Failure what="The sign-in was not ended" error={end.error} />}
      {query.data?.length === 0 && <p className={styles.soft}>Not signed in anywhere.</p>}
      {query.data && query.data.length > 0 && (
        <Table label="Sign-ins" columns={['Browser', 'Address', 'Last used']} actions>
          {query.data.map((s) => (
            <tr key={s.id}>
              <td title={s.userAgent}>{browserName(s.userAgent)}</td>
              <td className={styles.mono} data-label="Address">
                {s.address}
              </td>
              <td className={styles.soft} data-label="Last used">
                <Ago at={s.lastUsedAt} />
              </td>
              <td>
                {s.current ? (
                  <span className={styles.soft}>this one</span>
                ) : (
                  <ConfirmButton
                    label="End"
                    title={`End the sign-in from ${s.address}?`}
                    action="End sign-in"
                    onConfirm={() => end.mutate(s.id)}
                    text={<p>This browser must sign in again to go on.</p>}
                  />
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}

const browsers = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;

const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** A short name for a User-Agent header, such as "Firefox on Linux". Other programs keep the name that they sent. */
export function browserName(userAgent: string): string {
  const browser = browsers.find(([mark]) => userAgent.includes(mark))?.[1];
  const system = systems.find(([mark]) => userAgent.includes(mark))?.[1];
  if (!browser) return userAgent || 'Unknown';
  return system ? `${browser} on ${system}` : browser;
}
