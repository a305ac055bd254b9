// The routes of the basic flow: docs/protocol/broker.md, sections 1.1 and 1.4.

import { createHash, randomBytes, randomUUID } from "node:crypto";

import jwt from "jsonwebtoken";

import { pool, seal, unseal } from "./database.js";

const TOKEN_LIFE_SECONDS = 600;
const HOST_LIMIT_MS = 10_000;

const refuse = (status, error) => Response.json({ error }, { status });
const hashOf = (token) => createHash("sha256").update(token).digest("hex");

/** Returns the id of the caller, or undefined. */
async function callerOf(request) {
  const [scheme, token] = (request.headers.get("authorization") ?? "").split(" ");
  if (scheme !== "Bearer" || !token) {
    return undefined;
  }
  const found = await pool.query("SELECT id FROM users WHERE token_hash = $1", [hashOf(token)]);
  return found.rows[0]?.id;
}

/** Creates a user: the benchmark's own route. Returns {token}. */
export async function createUser() {
  const token = randomBytes(32).toString("hex");
  await pool.query("INSERT INTO users (id, token_hash) VALUES ($1, $2)", [randomUUID(), hashOf(token)]);
  return Response.json({ token });
}

export async function createTask(request) {
  const userID = await callerOf(request);
  if (!userID) {
    return refuse(401, "Unauthorized");
  }
  const { title, agentUrl, agentPassword } = await request.json();
  const id = randomUUID();
  await pool.query(
    `INSERT INTO tasks (id, user_id, title, mode, agent_url, agent_password, webhook_secret)
     VALUES ($1, $2, $3, 'agent', $4, $5, $6)`,
    [id, userID, title, agentUrl, seal(agentPassword), seal(randomBytes(32).toString("hex"))],
  );
  return Response.json({ id }, { status: 201 });
}

/** Checks in: stores the message, opens the session on the host, and stores the outcome. */
export async function checkIn(request) {
  const userID = await callerOf(request);
  if (!userID) {
    return refuse(401, "Unauthorized");
  }
  const { taskId, message } = await request.json();
  if (!taskId) {
    return refuse(400, "taskId is required");
  }
  const found = await pool.query("SELECT * FROM tasks WHERE id = $1 AND user_id = $2", [taskId, userID]);
  const task = found.rows[0];
  if (!task) {
    return refuse(404, "Task not found");
  }
  const messageId = randomUUID();
  await pool.query("INSERT INTO messages (id, task_id, role, status, message) VALUES ($1, $2, 'USER', 'SENDING', $3)", [
    messageId,
    taskId,
    message,
  ]);
  const opened = await openSession(task);
  await pool.query("UPDATE messages SET status = $2 WHERE id = $1", [messageId, opened.token ? "SENT" : "ERROR"]);
  if (!opened.token) {
    return refuse(502, opened.error);
  }
  const streamUrl = `${task.agent_url}/stream/${taskId}`;
  return Response.json({ success: true, sessionId: taskId, streamToken: opened.token, streamUrl });
}

/** Returns {token} of the host, or {error}. */
async function openSession(task) {
  const token = jwt.sign({ taskId: task.id }, unseal(task.webhook_secret), {
    algorithm: "HS256",
    expiresIn: TOKEN_LIFE_SECONDS,
  });
  try {
    const response = await fetch(`${task.agent_url}/session`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${unseal(task.agent_password)}` },
      body: JSON.stringify({
        sessionId: task.id,
        webhookUrl: `${process.env.PUBLIC_URL}/api/agent/webhook?token=${token}`,
      }),
      signal: AbortSignal.timeout(HOST_LIMIT_MS),
    });
    if (!response.ok) {
      await response.body?.cancel();
      return { error: "Failed to create agent session" };
    }
    const session = await response.json();
    return session.token ? session : { error: "No stream token returned from agent" };
  } catch {
    return { error: "Failed to connect to agent server" };
  }
}

/** Stores an event of an agent host. Only texts become messages here. */
export async function receiveEvent(request) {
  const token = new URL(request.url).searchParams.get("token");
  if (!token) {
    return refuse(400, "Missing token");
  }
  const claims = jwt.decode(token);
  if (typeof claims?.taskId !== "string") {
    return refuse(400, "Invalid token payload");
  }
  const found = await pool.query("SELECT id, webhook_secret FROM tasks WHERE id = $1", [claims.taskId]);
  const task = found.rows[0];
  if (!task?.webhook_secret) {
    return refuse(404, "Task not found or not configured");
  }
  try {
    jwt.verify(token, unseal(task.webhook_secret), { algorithms: ["HS256"], maxAge: TOKEN_LIFE_SECONDS });
  } catch {
    return refuse(401, "Invalid or expired token");
  }
  const event = await request.json();
  if (event.sessionId !== task.id) {
    return refuse(400, "Session ID mismatch");
  }
  if (event.type === "text") {
    await pool.query(
      "INSERT INTO messages (id, task_id, role, status, message) VALUES ($1, $2, 'ASSISTANT', 'SENT', $3)",
      [randomUUID(), task.id, event.text],
    );
  } else if (event.type === "status") {
    await pool.query("UPDATE tasks SET agent_status = $2, updated_at = now() WHERE id = $1", [task.id, event.status]);
  }
  return Response.json({ success: true });
}
