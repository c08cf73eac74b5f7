import { defineConfig } from 'vitest/config';

/** The tests that start no server: for the loop of editing. `npm test` runs them, too. */
export default defineConfig({
  test: {
    include: ['test/unit/**/*.test.ts', 'test/runtimes/**/*.test.ts'],
    testTimeout: 60_000,
    // Some tests only wait.
    maxWorkers: '200%',
    pool: 'threads',
    // Modules are loaded once for all files, which halves the time.
    isolate: false,
    // Node reads the types away by itself, as it does when the product runs.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    globalSetup: ['test/support/harness/ends-with-run.ts'],
    setupFiles: ['test/support/harness/leaves-no-trace.ts'],
    execArgv: ['--disable-warning=ExperimentalWarning'],
  },
});
