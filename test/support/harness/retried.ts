import type { Reporter, TestCase } from 'vitest/node';

const ours = (stack: string) =>
  stack
    .split('\n')
    .filter((line) => !line.includes('/node_modules/'))
    .join('\n');

/** Reports at the end which tests passed only at their second attempt, and why the first one failed. Each is a fault to find. */
export default class Retried implements Reporter {
  private readonly found: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (!test.diagnostic()?.flaky) return;
    const reasons = (test.result().errors ?? []).map(({ stack, message }) => ours(stack ?? message));
    this.found.push(`${test.module.relativeModuleId} > ${test.fullName}\n${reasons.join('\n')}`);
  }

  onTestRunEnd(): void {
    for (const report of this.found) console.log(`\nNeeded a second attempt: ${report}`);
  }
}
