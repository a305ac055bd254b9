import type { Reporter, TestCase, TestResult } from '@playwright/test/reporter';

/** Prints the figures that each measurement recorded. A Playwright reporter has to be a default export. */
export default class Figures implements Reporter {
  onTestEnd(test: TestCase, result: TestResult): void {
    console.log(`\n${test.title}${result.status === 'passed' ? '' : `: ${result.status}`}`);
    for (const { type, description } of result.annotations) console.log(`  ${type.padEnd(44)} ${description ?? ''}`);
    for (const error of result.errors) console.log(error.message);
  }
}
