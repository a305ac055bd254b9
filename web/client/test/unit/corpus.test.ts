import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { NativePart } from '../../src/index.js';
import type { PartType } from '../../src/wire.js';
import { newConverter } from '../../src/ui/convert.js';

/** The Go converter uses the same corpus (agenthost/api/uistream/corpus_test.go), so neither can change alone. Where
 * this converter differs on purpose, a case has a `client` member with its chunks and the reason. */
interface CorpusCase {
  name: string;
  parts: NativePart[];
  chunks: ChunkLists;
  client?: { why: string; chunks: ChunkLists };
}

interface Chunk {
  type: string;
}

/** Chunks by version of the AI SDK: `v5`, `v6 v7`, `v5 v6 v7`. */
type ChunkLists = Record<string, Chunk[]>;

const folder = new URL('../../../../agenthost/api/uistream/testdata/corpus/', import.meta.url);
const files = readdirSync(folder).map((file) => ({
  file,
  cases: JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as CorpusCase[],
}));

const versions = ['v5', 'v6', 'v7'] as const;
type Version = (typeof versions)[number];

/** Chunks that a version does not know, so its reader ignores them. */
const ignored: Record<Version, readonly string[]> = {
  v5: ['tool-approval-request', 'tool-approval-response', 'tool-output-denied'],
  v6: ['tool-approval-response'],
  v7: [],
};

/** The chunks of the converter as a version reads them. Version 5 has no approvals: its pages use mode `live`. */
function convert(parts: NativePart[], version: Version): Chunk[] {
  const converter = newConverter(() => 'm', version === 'v5');
  const chunks = parts.flatMap((part) => converter.convert(part));
  // JSON leaves undefined members out.
  return (JSON.parse(JSON.stringify(chunks)) as Chunk[]).filter(({ type }) => !ignored[version].includes(type));
}

const listed = (lists: ChunkLists | undefined, version: Version): Chunk[] | undefined =>
  Object.entries(lists ?? {}).find(([names]) => names.split(' ').includes(version))?.[1];

describe.each(files)('$file', ({ cases }) => {
  describe.each(cases)('$name', ({ parts, chunks, client }) => {
    test.each(versions)('%s', (version) => {
      expect(convert(parts, version)).toEqual(listed(client?.chunks, version) ?? listed(chunks, version));
    });

    if (client) {
      test('differs from the Go converter, for a reason', () => {
        expect(client.why).toBeTruthy();
        for (const version of versions) {
          const own = listed(client.chunks, version);
          if (own) expect(own).not.toEqual(listed(chunks, version));
        }
      });
    }
  });
});

/** Every part type: the compiler rejects this list when one is missing, including types that only the Go package
 * names. */
const everyType: Record<NativePart['type'] | PartType, true> = {
  start: true,
  'start-step': true,
  'finish-step': true,
  raw: true,
  ping: true,
  custom: true,
  'steering-message': true,
  'reasoning-file': true,
  'text-start': true,
  'text-delta': true,
  'text-end': true,
  'reasoning-start': true,
  'reasoning-delta': true,
  'reasoning-end': true,
  'tool-input-start': true,
  'tool-input-delta': true,
  'tool-input-end': true,
  'tool-call': true,
  'tool-result': true,
  'tool-error': true,
  'tool-output-denied': true,
  'tool-approval-request': true,
  'tool-approval-response': true,
  source: true,
  file: true,
  'data-ask': true,
  'data-answer': true,
  'data-notice': true,
  'data-queued': true,
  'data-context-restored': true,
  'data-resume': true,
  finish: true,
  abort: true,
  error: true,
};

test('the corpus has a part of every type', () => {
  const present = new Set(
    files.flatMap(({ cases }) => cases.flatMap(({ parts }) => parts.map(({ type }) => type as string))),
  );
  expect(Object.keys(everyType).filter((type) => !present.has(type))).toEqual([]);
});
