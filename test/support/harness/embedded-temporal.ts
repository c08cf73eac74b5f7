import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTemporal } from '../../../src/embedded/temporal.ts';

/** Returns the executable that `npm start` would use; it is obtained now if there is none on this machine yet. */
export const temporalForTests = (): Promise<string> =>
  findTemporal({
    home: join(tmpdir(), 'perdura-tests'),
    path: process.env.TEMPORAL_CLI_PATH,
    log: (line) => console.error(line),
  });
