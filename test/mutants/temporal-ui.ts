import type { Mutant } from './mutant.ts';

const shown = (name: string) => ({ file: 'test/temporal/shown-in-temporal.test.ts', name });
const CHANGES = shown('changes with it: waiting for a person, running again, completed');
const RESET = shown('that someone resets ends with the reason');
const PAUSED = {
  file: 'test/temporal/schedules.test.ts',
  name: 'stays paused if someone pauses it in the engine',
};

export default [
  {
    id: 'temporal-ui/not-running-again',
    file: 'src/temporal/workflows/waits.ts',
    text: "if (progress.parked === 0) show('running');",
    replacement: 'if (progress.parked === 0) show(null);',
    harm: 'A run that was approved has no status in the Temporal UI.',
    tests: [CHANGES],
  },
  {
    id: 'temporal-ui/no-end',
    file: 'src/temporal/workflows/agent-run.ts',
    text: 'show(error_code === TASK_ENDED ? null : status);',
    replacement: '',
    harm: 'Runs that have ended are listed as running.',
    tests: [CHANGES],
  },
  {
    id: 'temporal-ui/reset-counts',
    file: 'src/temporal/workflows/agent-run.ts',
    text: 'show(error_code === TASK_ENDED ? null : status)',
    replacement: 'show(status)',
    harm: 'A completed run that someone resets is listed as failed.',
    tests: [RESET],
  },
  {
    id: 'temporal-ui/pause-undone-by-a-change',
    file: 'src/temporal/client/schedules.ts',
    text: '!resumes && wasPausedByHand(state)',
    replacement: 'false',
    harm: 'Renaming a schedule ends the pause that an operator made.',
    tests: [PAUSED],
  },
  {
    id: 'temporal-ui/pause-undone',
    file: 'src/temporal/repair/reconcile-schedules.ts',
    text: 'if (row.enabled && (await schedules.isPausedByHand(id)))',
    replacement: 'if (false)',
    harm: 'The reconciler leaves the record enabled while the schedule is paused.',
    tests: [PAUSED],
  },
  {
    id: 'temporal-ui/pause-before-it-is-saved',
    file: 'src/temporal/repair/reconcile-schedules.ts',
    text: 'grace_ms: GRACE_MS',
    replacement: 'grace_ms: -GRACE_MS',
    harm: 'A schedule that is just being enabled is disabled again.',
    tests: [PAUSED],
  },
  {
    id: 'temporal-ui/older-pauses',
    file: 'src/temporal/client/schedules.ts',
    text: "note !== '' && note !== DISABLED",
    replacement: 'note !== DISABLED',
    harm: 'A schedule that an older version paused can no longer be enabled.',
    tests: [{ file: 'test/temporal/schedules.test.ts', name: 'is enabled in the engine although an older version paused it' }],
  },
] satisfies Mutant[];
