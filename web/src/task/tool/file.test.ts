import { expect, test } from 'vitest';
import { fileOfCall, workspaceFile } from './file.ts';

const dir = '/srv/bellhop/workspaces/t1';

test.each([
  ['src/a.ts', { path: 'src/a.ts' }],
  ['./src//a.ts', { path: 'src/a.ts' }],
  ['src/../b.ts', { path: 'b.ts' }],
  ['src/a.ts:12', { path: 'src/a.ts', line: 12 }],
  ['src/a.ts:12:7', { path: 'src/a.ts', line: 12 }],
  ['src/a.ts:0', { path: 'src/a.ts' }],
  [`${dir}/src/a.ts:3`, { path: 'src/a.ts', line: 3 }],
  [`${dir}/src/../a.ts`, { path: 'a.ts' }],
  ['a b/ü.md', { path: 'a b/ü.md' }],
])('%s is a file of the workspace', (text, file) => {
  expect(workspaceFile(text, dir)).toEqual(file);
});

test.each([
  '../secret',
  'src/../../secret',
  `${dir}/../t2/a.ts`,
  `${dir}2/a.ts`,
  '/etc/passwd',
  '/etc/passwd:1',
  '~/notes.md',
  '~root/x',
  dir,
  `${dir}/`,
  '.',
  '',
  'src/',
  '.git/config',
  'https://example.org/a.ts',
  'file:///etc/passwd',
  'a\\..\\b',
  'a\u0000b',
  'a\nb',
  `${'x'.repeat(5000)}.ts`,
])('%j is none', (text) => {
  expect(workspaceFile(text, dir)).toBeNull();
});

test('an absolute path leads nowhere while the directory is unknown', () => {
  expect(workspaceFile(`${dir}/a.ts`, '')).toBeNull();
  expect(workspaceFile('/a.ts', '/')).toEqual({ path: 'a.ts' });
  expect(workspaceFile('a.ts', '')).toEqual({ path: 'a.ts' });
});

test('tools that take a file name it, each in its own words', () => {
  expect(fileOfCall('Read', { file_path: `${dir}/a.ts`, offset: 40, limit: 10 }, dir)).toEqual({
    path: 'a.ts',
    line: 40,
  });
  expect(fileOfCall('read', { filePath: `${dir}/a.ts`, offset: 40 }, dir)).toEqual({ path: 'a.ts' });
  expect(fileOfCall('write_file', { absolute_path: `${dir}/a.ts` }, dir)).toEqual({ path: 'a.ts' });
  expect(fileOfCall('edit', { path: 'a.ts', line: 7 }, dir)).toEqual({ path: 'a.ts', line: 7 });
  expect(fileOfCall('read', { path: 'a.ts:2', line: 7 }, dir)).toEqual({ path: 'a.ts', line: 2 });
  expect(fileOfCall('apply_patch', { changes: [{ path: `${dir}/a.ts` }] }, dir)).toEqual({ path: 'a.ts' });
  expect(fileOfCall('apply_patch', { changes: [{ path: 'a.ts' }, { path: 'b.ts' }] }, dir)).toBeNull();
});

test('other tools and inputs name none', () => {
  for (const name of ['Bash', 'list', 'Grep', 'Glob', 'web_fetch', 'ask_user', 'search_files'])
    expect(fileOfCall(name, { path: 'a.ts', command: 'cat a.ts' }, dir)).toBeNull();
  for (const input of [undefined, null, 'a.ts', 7, [], {}, { path: 7 }, { path: '' }])
    expect(fileOfCall('Read', input, dir)).toBeNull();
  expect(fileOfCall('Read', { path: 'a.ts', line: -1 }, dir)).toEqual({ path: 'a.ts' });
});
