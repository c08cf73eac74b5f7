import { describe, expect, it } from 'vitest';
import { doctorChecks } from '../../src/main/doctor-checks.ts';

const TASK = { status: 'running', record_behind: null, continuity: null, turns: 3, workflow_id: 'w' };

interface Open {
  /** What the engine has of the task; `waits`: what its run says that it waits for. */
  state: string;
  waits?: object[] | null;
  record_behind?: string;
}

/** What `doctor` reports of runs, the first of which is number 1. */
function reportRuns(open: readonly Open[]): Promise<string> {
  const tasks = open.map(({ state, record_behind = null }, index) => ({
    ...{ ...TASK, task_id: String(index + 1), record_behind },
    status: state === 'waiting' ? 'waiting' : 'running',
  }));
  const find = (task_id: string) => open[Number(task_id) - 1]!;
  const engine = {
    execution: async (task_id: string) => ({ state: find(task_id).state, place: `r/${task_id}` }),
    waits: async (task_id: string) => find(task_id).waits ?? null,
  };
  const store = {
    tasks: { listUnfinished: async () => tasks, findUnfinished: async (id: string) => tasks[Number(id) - 1] },
  };
  return doctorChecks({ store, setting: { config: {} } } as never, { engine } as never).runs!();
}

/** A wait for a decision about a record that is behind, which a record that is not behind does not know. */
const DECISION = { for: 'person' };

describe('the doctor counts runs', () => {
  it('that work, wait, or have a record that is behind', async () => {
    const waiting = { state: 'waiting', waits: null };
    const open = [{ state: 'open' }, waiting, waiting, { state: 'closed', record_behind: 'the end' }, { state: 'open' }];
    expect(await reportRuns(open)).toBe(
      '5 in progress for more than two minutes, 2 of them wait for a person, 1 because their record is older than their execution (decide: resume or fail)',
    );
    expect(await reportRuns([{ state: 'open' }])).toBe('1 in progress for more than two minutes, 0 of them wait for a person');
  });

  it('that have no execution', async () => {
    const reporting = reportRuns([{ state: 'open' }, { state: 'closed' }, { state: 'unknown' }]);
    await expect(reporting).rejects.toThrow('2 have no execution: 2, 3; a worker settles them within a minute');
  });

  it('that wait for what is not on record, unless that is known', async () => {
    const ahead = { state: 'waiting', waits: [DECISION] };
    const reporting = reportRuns([{ ...ahead, record_behind: 'the call 7-1' }, ahead, { state: 'open', waits: [DECISION] }]);
    await expect(reporting).rejects.toThrow('1 wait for what their record does not have: 2; a worker asks their owners');
  });
});

describe('the doctor reports the epoch', () => {
  const report = (compared: object) => {
    const epoch = { compare: async () => ({ why: null, recorded: { epoch: 3, restored_at: null }, ...compared }) };
    const store = { epoch: { countRestoredTasks: async () => 7 } };
    return doctorChecks({ store, setting: { config: {} } } as never, { epoch } as never).epoch!();
  };

  it('of a record that was restored, and of one that was not', async () => {
    expect(await report({})).toBe('3, never restored');
    expect(await report({ recorded: { epoch: 5, restored_at: '2026-11-13T17:19:23Z' } })).toBe(
      '5, restored at 2026-11-13T17:19:23Z; 7 tasks from before have not ended',
    );
    const why = 'The record is older than what its engine has seen';
    await expect(report({ why })).rejects.toThrow(`${why}: a new epoch is due; a worker notices within seconds`);
  });
});
