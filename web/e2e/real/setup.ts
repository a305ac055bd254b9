import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, default as programs } from '../kit/setup.ts';

/** Builds what all browser tests need, and the scripted model; workers read its path from BELLHOP_E2E_MODEL. */
export default function setup(): () => void {
  if (!process.env.BELLHOP_AGENTS_DIR)
    throw new Error(
      "BELLHOP_AGENTS_DIR is not set: run these tests with 'make test-agents', which installs the agents",
    );
  const remove = programs();
  const dir = mkdtempSync(join(tmpdir(), 'bellhop-e2e-model-'));
  process.env.BELLHOP_E2E_MODEL = build(dir, './internal/testenv/mockllm/cmd/mockllm');
  return () => {
    remove();
    rmSync(dir, { recursive: true });
  };
}
