import { readFileSync } from 'node:fs';
import { defineConfig } from 'vite';

/**
 * For development the page talks to the broker through Vite, which signs it in with the token of `bellhop dev`: the
 * token stays out of the page. An app of your own signs its users in at its own server, or at the broker.
 */
function broker(): { brokerUrl: string; apiToken: string } {
  const file = process.env.BELLHOP_DEV ?? '../../../../.bellhop/dev.json';
  return JSON.parse(readFileSync(file, 'utf8')) as { brokerUrl: string; apiToken: string };
}

export default defineConfig(({ command }) => {
  if (command === 'build') return {};
  const { brokerUrl, apiToken } = broker();
  return {
    server: {
      host: '127.0.0.1',
      proxy: {
        '/api': {
          target: brokerUrl,
          changeOrigin: true,
          configure: (proxy) => {
            proxy.on('proxyReq', (request) => {
              request.setHeader('origin', brokerUrl);
              // Relayed streams bring their own.
              if (!request.getHeader('authorization')) request.setHeader('authorization', `Bearer ${apiToken}`);
            });
          },
        },
      },
    },
  };
});
