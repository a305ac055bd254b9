import type { DiffFile } from '../app/types.ts';

/** A row of the file tree. */
export interface TreeRow {
  /** The whole path; a folder's ends with "/". */
  key: string;
  name: string;
  /** From 1. */
  level: number;
  /** The place of the row's file in the changes; undefined for a folder. */
  file: number | undefined;
}

interface Folder {
  folders: Map<string, Folder>;
  files: { name: string; at: number }[];
}

/** The rows of a tree of files. A folder that holds only one folder is joined with it. Closed folders hide theirs. */
export function treeRows(files: readonly DiffFile[], closed: ReadonlySet<string>): TreeRow[] {
  const root: Folder = { folders: new Map(), files: [] };
  files.forEach((file, at) => {
    const names = file.path.split('/');
    const name = names.pop() ?? '';
    let folder = root;
    for (const n of names) {
      const next = folder.folders.get(n) ?? { folders: new Map(), files: [] };
      folder.folders.set(n, next);
      folder = next;
    }
    folder.files.push({ name, at });
  });
  const rows: TreeRow[] = [];
  const walk = (folder: Folder, path: string, level: number) => {
    for (const [first, child] of folder.folders) {
      const { name, inner } = joined(first, child);
      const key = `${path}${name}/`;
      rows.push({ key, name, level, file: undefined });
      if (!closed.has(key)) walk(inner, key, level + 1);
    }
    for (const { name, at } of folder.files) rows.push({ key: path + name, name, level, file: at });
  };
  walk(root, '', 1);
  return rows;
}

function joined(name: string, folder: Folder): { name: string; inner: Folder } {
  let [all, inner] = [name, folder];
  while (inner.files.length === 0 && inner.folders.size === 1) {
    const [[next, child]] = [...inner.folders] as [[string, Folder]];
    all += `/${next}`;
    inner = child;
  }
  return { name: all, inner };
}
