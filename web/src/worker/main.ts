/// <reference lib="webworker" />
import { activate, install, respond } from './cache.ts';
import { clicked, receive } from './push.ts';

declare const self: ServiceWorkerGlobalScope;

// A new release takes over at once: pages are always read from the broker while it can be reached.
self.addEventListener('install', (event) => event.waitUntil(install().then(() => self.skipWaiting())));
self.addEventListener('activate', (event) => event.waitUntil(activate().then(() => self.clients.claim())));
self.addEventListener('fetch', respond);

self.addEventListener('push', (event) => event.waitUntil(receive(event.data?.text() ?? '')));
self.addEventListener('notificationclick', (event) => event.waitUntil(clicked(event.notification, event.action)));
