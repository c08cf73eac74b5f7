import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Processes that tests start inherit it, so that those left running can be found. */
export const RUN_MARK = 'TEST_RUN_MARK';

/** A folder for servers that run as another account, which has none of the environment: their command line names the folder. */
export const folderOfRun = (prefix: string): Promise<string> =>
  mkdtemp(join(tmpdir(), `${prefix}${process.env[RUN_MARK] ?? ''}-`));
