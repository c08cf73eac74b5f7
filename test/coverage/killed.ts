import { takeCoverage } from 'node:v8';
import { isMainThread } from 'node:worker_threads';

// Loaded before the program of a measured child, which `killMeasured` of `folder.ts` kills with this signal.
if (isMainThread)
  process.once('SIGUSR2', () => {
    takeCoverage();
    process.kill(process.pid, 'SIGKILL');
  });
