// The server: node:http in front of route handlers that take a Request and return a
// Response, as those of a web framework do.
//
// Variables: LISTEN (host:port), KEY (32 bytes in hex, which seal secrets), PUBLIC_URL,
// and those of node-postgres (PGHOST, PGUSER, PGDATABASE).

import { createServer } from "node:http";

import { createTables } from "./database.js";
import { checkIn, createTask, createUser, receiveEvent } from "./routes.js";

const routes = {
  "POST /api/users": createUser,
  "POST /api/tasks": createTask,
  "POST /api/agent": checkIn,
  "POST /api/agent/webhook": receiveEvent,
  "GET /readyz": () => Response.json({ ready: true }),
};

/** Converts a request of node:http. Only requests with a body carry one. */
async function toRequest(incoming) {
  const url = `${process.env.PUBLIC_URL}${incoming.url}`;
  const init = { method: incoming.method, headers: incoming.headers };
  if (incoming.method !== "GET") {
    const chunks = [];
    for await (const chunk of incoming) {
      chunks.push(chunk);
    }
    init.body = Buffer.concat(chunks);
  }
  return new Request(url, init);
}

async function respond(incoming, outgoing) {
  let response;
  try {
    const request = await toRequest(incoming);
    const handler = routes[`${request.method} ${new URL(request.url).pathname}`];
    response = handler ? await handler(request) : Response.json({ error: "Not found" }, { status: 404 });
  } catch (error) {
    console.error(error);
    response = Response.json({ error: "Internal server error" }, { status: 500 });
  }
  const body = Buffer.from(await response.arrayBuffer());
  outgoing.writeHead(response.status, { "Content-Type": "application/json", "Content-Length": body.length });
  outgoing.end(body);
}

await createTables();
const [host, port] = process.env.LISTEN.split(":");
const server = createServer(respond).listen(Number(port), host);
server.keepAliveTimeout = 60_000;
process.on("SIGTERM", () => process.exit(0));
process.on("SIGINT", () => process.exit(0));
