import type { BrowserContext, ConsoleMessage } from '@playwright/test';

/** Watches all pages of a context for errors, violations of the content policy and requests to other machines. */
export class Guard {
  readonly #found: string[] = [];
  readonly #allowed: RegExp[] = [/^console warning: Service Worker registration blocked by Playwright/];

  /** Permits errors that the test itself causes: the browser logs every failed request. */
  allow(...patterns: RegExp[]): void {
    this.#allowed.push(...patterns);
  }

  async watch(context: BrowserContext): Promise<void> {
    await context.addInitScript(() => {
      addEventListener('securitypolicyviolation', (e) =>
        console.error(
          `policy ${e.effectiveDirective} refused ${e.blockedURI || 'inline'} at ${e.sourceFile}:${e.lineNumber}`,
        ),
      );
    });
    context.on('console', (message) => this.#check(message));
    context.on('weberror', (error) => this.#found.push(`uncaught: ${error.error().stack ?? String(error.error())}`));
    context.on('request', (request) => {
      const url = new URL(request.url());
      if (/^(https?|wss?):$/.test(url.protocol) && !['127.0.0.1', 'bellhop.localhost'].includes(url.hostname))
        this.#found.push(`request off the machine: ${request.url()}`);
    });
  }

  #check(message: ConsoleMessage): void {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    const { url, lineNumber } = message.location();
    this.#found.push(`console ${message.type()}: ${message.text()} (${url}:${lineNumber})`);
  }

  findings(): string[] {
    return this.#found.filter((f) => !this.#allowed.some((pattern) => pattern.test(f)));
  }
}
