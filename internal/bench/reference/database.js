// The tables, and how secrets are sealed in them.

import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

import pg from "pg";

/** Connections; the limit is what the broker beside it has. */
export const pool = new pg.Pool({ max: 20 });

export async function createTables() {
  await pool.query(`
    CREATE TABLE IF NOT EXISTS users (id text PRIMARY KEY, token_hash text NOT NULL UNIQUE);
    CREATE TABLE IF NOT EXISTS tasks (
      id text PRIMARY KEY, user_id text NOT NULL REFERENCES users (id), title text NOT NULL, mode text NOT NULL,
      agent_url text, agent_password text, webhook_secret text, agent_status text NOT NULL DEFAULT 'none',
      created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now());
    CREATE TABLE IF NOT EXISTS messages (
      id text PRIMARY KEY, task_id text NOT NULL REFERENCES tasks (id), role text NOT NULL, status text NOT NULL,
      message text NOT NULL, created_at timestamptz NOT NULL DEFAULT now());
    CREATE INDEX IF NOT EXISTS messages_of_task ON messages (task_id, created_at);`);
}

const key = Buffer.from(process.env.KEY ?? "", "hex");

/** Encrypts a secret with AES-256-GCM; the result is nonce, tag and text in base64. */
export function seal(plain) {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const text = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64");
}

export function unseal(sealed) {
  const bytes = Buffer.from(sealed, "base64");
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12));
  decipher.setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8");
}
