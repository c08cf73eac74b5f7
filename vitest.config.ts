import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A busy machine may starve one attempt of a test that waits on real servers; one that fails twice has failed.
    retry: process.env.CI ? 1 : 0,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  },
});
