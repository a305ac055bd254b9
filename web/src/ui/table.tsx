import type { ReactNode } from 'react';
import styles from './table.module.css';

/** A table with a row of headings. On a phone its cells stand below each other, with their `data-label`. */
export function Table({
  columns,
  actions = false,
  label,
  children,
}: {
  columns: readonly string[];
  /** Whether the last cell of each row has buttons. Its heading is read, not shown. */
  actions?: boolean;
  label?: string;
  /** The rows. */
  children: ReactNode;
}) {
  return (
    <div className={styles.wrap}>
      <table className={styles.table} aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
            {actions && (
              <th scope="col">
                <span className="visually-hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
