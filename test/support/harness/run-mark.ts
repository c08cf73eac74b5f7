import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The variable that processes inherit from a test, so that those left running can be found. */
export const RUN_MARK = 'TEST_RUN_MARK';

/** Creates a folder for servers that run as another account and inherit no environment: their command line names the folder. */
export const folderOfRun = (prefix: string): Promise<string> =>
  mkdtemp(join(tmpdir(), `${prefix}${process.env[RUN_MARK] ?? ''}-`));
