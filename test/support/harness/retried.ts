import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';

const ours = (stack: string) =>
  stack
    .split('\n')
    .filter((line) => !line.includes('/node_modules/'))
    .join('\n');

/**
 * Reports at the end which tests passed only at their second attempt, and why the first one failed; and the errors of no test, such as
 * a promise that nobody awaited, for which the whole run fails. Each is a fault to find.
 */
export default class Retried implements Reporter {
  private readonly found: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (!test.diagnostic()?.flaky) return;
    const reasons = (test.result().errors ?? []).map(({ stack, message }) => ours(stack ?? message));
    this.found.push(`${test.module.relativeModuleId} > ${test.fullName}\n${reasons.join('\n')}`);
  }

  onTestRunEnd(_modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    for (const report of this.found) console.log(`\nNeeded a second attempt: ${report}`);
    for (const { stack, message } of errors) console.log(`\nFailed outside of a test: ${ours(stack ?? message)}`);
  }
}
