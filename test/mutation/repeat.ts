import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { openLaboratory } from '../mutants/trial.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Runs test files again and again next to one busy loop per core. Whether every attempt passed. */
export async function repeated(files: readonly string[], times: number): Promise<boolean> {
  const load = Array.from({ length: availableParallelism() }, () => new Worker('while (true);', { eval: true }));
  const laboratory = openLaboratory(ROOT);
  try {
    let steady = true;
    for (const file of files) {
      const failures = await failuresOf(() => laboratory.run({ tests: [{ file, name: '' }], changed: [] }), times);
      console.log(`${failures.length === 0 ? 'steady' : 'flaky '}  ${file}  ${times - failures.length} of ${times} passed`);
      for (const failure of new Set(failures)) console.log(`        ${failure}`);
      steady &&= failures.length === 0;
    }
    return steady;
  } finally {
    await laboratory.close();
    await Promise.all(load.map((worker) => worker.terminate()));
  }
}

type Run = () => ReturnType<ReturnType<typeof openLaboratory>['run']>;

/** One sentence for each attempt that did not pass. */
async function failuresOf(run: Run, times: number): Promise<string[]> {
  const failures: string[] = [];
  for (let attempt = 1; attempt <= times; attempt += 1) {
    const results = await run();
    const tests = results.flatMap((file) => file.tests);
    const failed = tests.find(({ state }) => state === 'failed');
    const unloaded = results.flatMap(({ errors }) => errors)[0];
    if (failed) failures.push(`${failed.name}: ${failed.error?.split('\n')[0]}`);
    else if (unloaded || tests.length === 0) failures.push(unloaded ?? 'no test ran');
  }
  return failures;
}
