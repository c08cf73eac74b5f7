import { defineConfig } from 'vitest/config';
import { REST } from './test/rest.ts';

const CHAOS = 'test/chaos/**/*.test.ts';
const LONG = ['test/accidents/**/*.test.ts', 'test/long/**/*.test.ts'];
const rest = Object.keys(REST).map((name) => `test/${name}.test.ts`);
const ENDS = 'test/support/harness/ends-with-run.ts';
const globalSetup = ['test/coverage/collect-setup.ts', ENDS, 'test/support/harness/global-setup.ts'];

export default defineConfig({
  test: {
    pool: 'forks',
    // On two cores: files mostly wait, in `rest` for what was lost to be noticed.
    maxWorkers: 3,
    // Modules are loaded once for all files of a process, by Node as when the product runs.
    isolate: false,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    setupFiles: ['test/coverage/collect.ts', 'test/support/harness/leaves-no-trace.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // The default of one second is too short on a busy machine.
    expect: { poll: { timeout: 20_000 } },
    // A busy machine may starve one attempt of a test that waits for real servers. A test that fails twice has failed.
    retry: process.env.CI ? 1 : 0,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    projects: [
      {
        extends: true,
        test: {
          name: 'main',
          include: ['test/**/*.test.ts'],
          exclude: [CHAOS, ...LONG, ...rest],
          globalSetup,
          sequence: { groupOrder: 0 },
        },
      },
      // `npm run test:all` runs them after those of `main`.
      { extends: true, test: { name: 'rest', include: rest, globalSetup, sequence: { groupOrder: 1 } } },
      // Too long for `npm test`, which leaves them out; `npm run accidents` and `npm run test:long` run them.
      { extends: true, test: { name: 'accidents', include: LONG, globalSetup, sequence: { groupOrder: 2 } } },
      // After all others: it starts its own servers and uses the whole machine.
      { extends: true, test: { name: 'chaos', include: [CHAOS], globalSetup: [ENDS], sequence: { groupOrder: 3 } } },
    ],
  },
});
