import { defineConfig } from 'vitest/config';

const CHAOS = 'test/chaos/**/*.test.ts';

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is waited for comes at some time; a second, as is the default, is not enough of it on a busy machine.
    expect: { poll: { timeout: 20_000 } },
    // A busy machine may starve one attempt of a test that waits on real servers; one that fails twice has failed.
    retry: process.env.CI ? 1 : 0,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    projects: [
      {
        extends: true,
        test: {
          name: 'main',
          include: ['test/**/*.test.ts'],
          exclude: [CHAOS],
          globalSetup: ['test/support/global-setup.ts'],
          sequence: { groupOrder: 0 },
        },
      },
      // When all others are done: it has servers of its own and takes the whole machine.
      { extends: true, test: { name: 'chaos', include: [CHAOS], sequence: { groupOrder: 1 } } },
    ],
  },
});
