import { readFileSync } from 'node:fs';
import { defineConfig } from 'vite';

/** During development the page talks to the broker through Vite, which authenticates with the token of `bellhop
 * dev`, so the token stays out of the page. Your own app signs its users in at its own server or at the broker. */
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
              // Relayed streams have their own token.
              if (!request.getHeader('authorization')) request.setHeader('authorization', `Bearer ${apiToken}`);
            });
          },
        },
      },
    },
  };
});
