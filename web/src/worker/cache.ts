/// <reference lib="webworker" />
import { isOfBroker, requestHeader } from '../../client/src/name.ts';

declare const self: ServiceWorkerGlobalScope;
/** The files of this build, and its name; scripts/worker.ts writes both. */
declare const FILES: readonly string[];
declare const BUILD: string;

const filesOf = `bellhop-files-${BUILD}`;
const seenName = 'bellhop-seen';
const maxSeen = 300;

const base = new URL('./', self.location.href);
const pageKey = base.href;
const ownerKey = new URL('owner-of-what-was-seen', base).href;

/** What the console reads to show the list of tasks and a task. */
const readable =
  /^api\/(auth\/me|agents|announcements|interactions|tasks|tasks\/[^/]+|tasks\/[^/]+\/(messages|queue|usage|workspace))$/;

/** Paths whose pages are not the console's: those of share links and of the API are the same for everyone. */
const foreign = /^(api\/|shared$|shared\.html$|openapi$|openapi\.(json|yaml)$)/;

/** Grows whenever everything that was seen is forgotten: an answer from before is not kept. */
let life = 0;
const offlineClients = new Set<string>();

/** Stores the files of this build, so that the console opens without the broker. */
export async function install(): Promise<void> {
  const cache = await caches.open(filesOf);
  await cache.addAll(FILES.map((name) => new URL(name, base).href));
}

/** Removes the files of other builds. */
export async function activate(): Promise<void> {
  for (const name of await caches.keys())
    if (name.startsWith('bellhop-files-') && name !== filesOf) await caches.delete(name);
}

/** Removes what users of this browser have seen. */
export async function forget(): Promise<void> {
  life++;
  await caches.delete(seenName);
}

/** Answers a request of the console, if it is one that can be answered without the broker. */
export function respond(event: FetchEvent): void {
  const { request } = event;
  if (!request.url.startsWith(base.href)) return;
  const url = new URL(request.url);
  const path = url.pathname.slice(base.pathname.length);
  if (path === 'api/auth/login' || path === 'api/auth/logout') event.respondWith(changeUser(request));
  else if (request.method !== 'GET') return;
  else if (FILES.includes(path)) event.respondWith(file(request));
  else if (request.mode === 'navigate' && !foreign.test(path)) event.respondWith(page(event));
  else if (readable.test(path)) event.respondWith(answer(event, path));
}

/** Before and after, because answers to the former user may be on their way. */
async function changeUser(request: Request): Promise<Response> {
  await forget();
  try {
    return await fetch(request);
  } finally {
    await forget();
  }
}

/** A file's name changes with its content, or this worker is replaced with it. */
async function file(request: Request): Promise<Response> {
  const kept = await (await caches.open(filesOf)).match(request.url, { ignoreSearch: true, ignoreVary: true });
  return kept ?? fetch(request);
}

/** The page always comes from the broker while that can be reached, so that a new release is seen at once. */
async function page(event: FetchEvent): Promise<Response> {
  const began = life;
  try {
    const response = await fetch(event.request);
    if (response.ok && isOfBroker(response, null) && response.headers.get('content-type')?.startsWith('text/html'))
      event.waitUntil(keep(pageKey, response.clone(), began));
    return response;
  } catch (error) {
    return lookUp(pageKey, error);
  }
}

/**
 * Answers from the broker, and with what was seen if it cannot be reached or something else answers
 * (docs/protocol.md, "Whose answer it is").
 */
async function answer(event: FetchEvent, path: string): Promise<Response> {
  const { request } = event;
  const began = life;
  const name = request.headers.get(requestHeader);
  let response: Response;
  try {
    response = await fetch(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    const kept = await lookUp(request.url, error);
    await report(event.clientId, true);
    return named(kept, name);
  }
  if (!isOfBroker(response, name)) {
    const kept = await lookUp(request.url).catch(() => undefined);
    if (!kept) return response;
    await report(event.clientId, true);
    return named(kept, name);
  }
  event.waitUntil(report(event.clientId, false));
  if (response.status === 401) event.waitUntil(forgetIfSignedOut(response.clone()));
  else if (response.ok) event.waitUntil(remember(path, request.url, response.clone(), began));
  return response;
}

async function forgetIfSignedOut(response: Response): Promise<void> {
  const { code } = (await response.json().catch(() => ({}))) as { code?: string };
  if (code === 'unauthorized') await forget();
}

/** Gives an answer that was seen the name of the request that it answers now. */
function named(kept: Response, name: string | null): Response {
  const headers = new Headers(kept.headers);
  if (name) headers.set(requestHeader, name);
  return new Response(kept.body, { status: kept.status, headers });
}

/** Throws the error of the request if nothing was seen. */
async function lookUp(url: string, error?: unknown): Promise<Response> {
  const kept = await (await caches.open(seenName)).match(url, { ignoreVary: true });
  if (!kept) throw error;
  return kept;
}

async function remember(path: string, url: string, response: Response, began: number): Promise<void> {
  if (path !== 'api/auth/me') return keep(url, response, began);
  const { user } = (await response.clone().json()) as { user?: { id?: string } };
  const owner = user?.id ?? '';
  const cache = await caches.open(seenName);
  if ((await (await cache.match(ownerKey))?.text()) === owner) return keep(url, response, began);
  // The page was read just now, for this user.
  for (const old of await cache.keys()) if (old.url !== pageKey) await cache.delete(old);
  await keep(ownerKey, new Response(owner), began);
  await keep(url, response, began);
}

async function keep(url: string, response: Response, began: number): Promise<void> {
  if (began !== life) return;
  const cache = await caches.open(seenName);
  await cache.put(url, response);
  if (began !== life) return forget();
  const keys = await cache.keys();
  for (const old of keys.slice(0, Math.max(0, keys.length - maxSeen)))
    if (old.url !== ownerKey && old.url !== pageKey) await cache.delete(old);
}

/** Reports to a page whether it shows earlier answers. */
async function report(clientId: string, offline: boolean): Promise<void> {
  if (offline === offlineClients.has(clientId)) return;
  if (offline) offlineClients.add(clientId);
  else offlineClients.delete(clientId);
  (await self.clients.get(clientId))?.postMessage({ type: 'offline', offline });
}
