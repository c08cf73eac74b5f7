import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import v8 from 'node:v8';
import { Worker } from '@temporalio/worker';
import { ThreadedVMWorkflowCreator, WorkerThreadClient } from '@temporalio/worker/lib/workflow/threaded-vm.js';
import { BaseVMWorkflow } from '@temporalio/worker/lib/workflow/vm-shared.js';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { TESTED_PG } from '../../src/vendor/pg-internals.ts';
import { msToTs, optionalTsToMs, TESTED_TEMPORAL } from '../../src/vendor/temporal-internals.ts';

const ROOT = resolve(import.meta.dirname, '../..');

interface Door {
  file: string;
  tested: string;
  packages: string[];
  /** The tests that use every part. */
  tests: string;
}

const DOORS: Door[] = [
  {
    file: 'src/vendor/pg-internals.ts',
    tested: TESTED_PG,
    packages: ['pg'],
    tests: 'test/api/silent-connections.test.ts and test/embedded/backup.test.ts',
  },
  {
    file: 'src/vendor/temporal-internals.ts',
    tested: TESTED_TEMPORAL,
    packages: ['@temporalio/worker', '@temporalio/common', '@temporalio/workflow'],
    tests: 'test/temporal/watched-worker.test.ts',
  },
];

const installed = (name: string): string =>
  JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')).version;

it.each(DOORS.flatMap((door) => door.packages.map((name) => ({ ...door, name }))))(
  '$name has the version for which its private parts were looked at',
  ({ name, file, tested, tests }) => {
    const advice = `${name} is another version: look at ${file} again, run ${tests}, then update the version in that file`;
    expect(installed(name), advice).toBe(tested);
  },
);

const client = new pg.Client() as unknown as Record<string, any>;
const isFunction = (value: unknown) => typeof value === 'function';

/** The private parts, and what is lost without each. */
const PARTS: Record<string, { lost: string; there: () => boolean }> = {
  'Client._queryable, _ending and _ended': {
    lost: 'an outage is taken for a fault of the statement, and the run fails instead of waiting',
    there: () => [client._queryable, client._ending].every((value) => typeof value === 'boolean') && '_ended' in client,
  },
  'Client._getActiveQuery': {
    lost: 'a statement on a silent connection waits for its time limit of 4 to 60 s instead of one second',
    there: () => isFunction(client._getActiveQuery),
  },
  'Client.processID': {
    lost: 'nobody knows on which statements the server works, and events of a process come back to it as those of others',
    there: () => 'processID' in client,
  },
  'Client.unref': {
    lost: 'a process with a silent connection does not end on SIGTERM',
    there: () => isFunction(client.unref),
  },
  'Client.connection.stream': {
    lost: 'a silent connection is closed only when the operating system gives it up',
    there: () => isFunction(client.connection?.stream?.destroy) && isFunction(client.connection?.stream?.pause),
  },
  'Client.connection.query, and messages that a query receives': {
    lost: 'perdura backup cannot copy a running installation',
    there: () => isFunction(client.connection?.query) && isFunction(client._handleCopyData),
  },
  'Worker.createWorkflowCreator': {
    lost: 'each call into a workflow starts and ends a thread, about 25 times a run',
    there: () => isFunction((Worker as unknown as Record<string, unknown>).createWorkflowCreator),
  },
  'WorkerThreadClient and ThreadedVMWorkflowCreator': {
    lost: 'the thread of the workflows cannot be watched from outside, and is limited by the SDK as above',
    there: () => isFunction(WorkerThreadClient) && isFunction(ThreadedVMWorkflowCreator),
  },
  'BaseVMWorkflow.prototype.activate': {
    lost: 'after each activation the SDK asks the thread what was logged: a message there and back for nothing',
    there: () => isFunction(BaseVMWorkflow.prototype.activate),
  },
  'v8.promiseHooks.createHook, as the SDK uses it': {
    lost: 'the SDK records the stack of every promise: a sixth of the processor time of a run',
    there: () =>
      isFunction(v8.promiseHooks.createHook) &&
      readFileSync(join(ROOT, 'node_modules/@temporalio/worker/lib/workflow/vm-shared.js'), 'utf8').includes('promiseHooks'),
  },
  'msToTs and optionalTsToMs': {
    lost: 'times of the engine have to be converted by hand',
    there: () => optionalTsToMs(msToTs(1_500)) === 1_500,
  },
};

it.each(Object.entries(PARTS))('%s is there', (part, { lost, there }) => {
  expect(there(), `Without ${part}: ${lost}`).toBe(true);
});

describe('private parts', () => {
  const filesIn = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return entry.name === 'generated' ? [] : filesIn(path);
      return /\.tsx?$/.test(entry.name) ? [path] : [];
    });
  const PRIVATE =
    /['"]@temporalio\/[\w-]+\/lib\/[^'"]+['"]|['"]pg(?:-protocol|-pool)?\/lib\/[^'"]+['"]|\b_(?:queryable|ending|ended|getActiveQuery)\b|\.processID\b|processID:|promiseHooks|as unknown as pg\.Submittable|\.connection\.stream\b/g;
  /** The documented way to have the spans of workflows. */
  const DOCUMENTED = "'@temporalio/interceptors-opentelemetry/lib/workflow-interceptors.js'";

  it('are used behind their doors alone', () => {
    const doors = DOORS.map(({ file }) => file);
    const uses = filesIn(join(ROOT, 'src')).flatMap((path) => {
      const file = relative(ROOT, path);
      const found = (readFileSync(path, 'utf8').match(PRIVATE) ?? []).filter((use) => use !== DOCUMENTED);
      return found.map((use) => ({ file, use }));
    });
    expect(uses.filter(({ file }) => doors.includes(file)).length).toBeGreaterThan(10);
    expect(uses.filter(({ file }) => !doors.includes(file))).toEqual([]);
  });
});
