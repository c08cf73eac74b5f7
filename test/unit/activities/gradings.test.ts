import { describe, expect, it } from 'vitest';
import type { Grader } from '../../../src/contracts/evaluations.ts';
import { AppError } from '../../../src/domain/errors.ts';
import type { OpenResult } from '../../../src/store/runs/evaluations.ts';
import {
  beginItemActivity,
  endEvaluationActivity,
  gradeItemActivity,
  openItemsActivity,
} from '../../../src/temporal/activities/evaluate.ts';
import { gradeByToolActivity } from '../../../src/temporal/activities/graders.ts';
import { inActivity } from '../../support/runs/in-activity.ts';

const MODEL = { type: 'model', criteria: 'Is it kind?', provider_id: null, model: null, pass_at: 3 } as unknown as Grader;
const PYTHON = { type: 'python', tool_id: 'tool' } as Grader;
const EXACT = { type: 'exact' } as Grader;

const ANSWERED = {
  ...{ prompt: 'p', expected: 'yes', answer: 'yes', graders: [EXACT], grading: {}, definition_hash: 'h', workflow_id: 'w' },
  ...{ owner: 'ann', owner_login: 'ann', task_status: 'completed', error: null },
} as OpenResult;

const LABELS = {
  ...{ owner: 'ann', principal: 'p', trigger: 'evaluation', agent: 'x', workflow: 'flow', workflow_id: 'w', model: null },
};

interface World {
  open?: Partial<OpenResult> | null;
  evaluation?: object | null;
  claimed?: object | null;
  task?: object | null;
  /** The runs of its items and judges that had no result when it ended. */
  ended?: string[];
  role_queues?: boolean;
  /** What the record keeps of a grader's work. */
  noted?: object | null;
  /** Why no run can be started. */
  refusal?: Error;
}

/** The activities of an evaluation on a record that is an object, with what they wrote. */
function world({
  open = {},
  evaluation = null,
  claimed = {},
  task = null,
  ended = [],
  role_queues = false,
  noted,
  refusal,
}: World) {
  const written: [string, unknown][] = [];
  const changes: object[] = [];
  const ports = {
    evaluations: {
      find: async () => evaluation,
      open: async () => ['one', 'two'],
      claim: async () => claimed,
      end: async () => ended,
      toGrade: async () => open && { ...ANSWERED, ...open },
      settle: async (_: unknown, result: unknown) => void written.push(['settle', result]),
      async note(_: unknown, at: number, work: object) {
        written.push(['note', { at, work }]);
        return noted === undefined ? work : (noted ?? undefined);
      },
    },
    tasks: { find: async () => task },
    dispatch: {
      evaluate: async () => ({ run: { task_id: 'run' }, labels: LABELS }),
      judge: async () => ({ run: { task_id: 'judge' }, labels: LABELS }),
      halt: async (task_id: string) => void written.push(['halt', task_id]),
    },
    definition: async () => ({ provider: null, agent: {}, workflow: {}, settings: {}, skills: [], tools: [] }),
    async authorizeEvaluation() {
      if (refusal) throw refusal;
      return null;
    },
    callGrader: async (call: object) => {
      written.push(['call', call]);
      return { verdict: { passed: true, reason: null } };
    },
    public_url: () => null,
    publishChange: (change: object) => void changes.push(change),
    role_queues,
  } as never;
  return { ports, written, changes };
}

const grade = async (values: World) => {
  const { ports, written } = world(values);
  return { state: await gradeItemActivity(ports)('e', 'i'), written };
};

describe('an evaluation', () => {
  it.each([null, { status: 'halted', parallel: 3 }])('has no open items once it is %j', async (evaluation) => {
    expect(await openItemsActivity(world({ evaluation }).ports)('e')).toEqual({ item_ids: [], parallel: 0 });
  });

  it('that runs has its open items', async () => {
    const { ports } = world({ evaluation: { status: 'running', parallel: 3 } });
    expect(await openItemsActivity(ports)('e')).toEqual({ item_ids: ['one', 'two'], parallel: 3 });
  });

  it.each([false, true])('begins an item with queues of the roles: %s', async (role_queues) => {
    const begun = await beginItemActivity(world({ role_queues }).ports)('e', 'i');
    expect(begun?.run).toEqual({ task_id: 'run', ...(role_queues ? { role_queues } : {}) });
  });

  it.each([
    ['running', ['one', 'two']],
    ['waiting', ['one', 'two']],
    ['completed', []],
    ['failed', []],
  ])('that ends halts its runs without a result if they are %s', async (status, halted) => {
    const { ports, written, changes } = world({ ended: ['one', 'two'], task: { status }, evaluation: { created_by: 'ann' } });
    await endEvaluationActivity(ports)('e');
    expect(written).toEqual(halted.map((task_id) => ['halt', task_id]));
    expect(changes).toEqual([{ kind: 'datasets', id: null, owner: 'ann' }]);
  });

  it('that was deleted, with its runs, ends without a trace', async () => {
    const { ports, written, changes } = world({ ended: ['one'], task: null, evaluation: null });
    await endEvaluationActivity(ports)('e');
    expect([written, changes]).toEqual([[], []]);
  });

  it('begins no item that another attempt has', async () => {
    expect(await beginItemActivity(world({ claimed: null }).ports)('e', 'i')).toBeNull();
  });

  it.each([new Error('odd'), new AppError('unavailable', 'no room'), new AppError('too_many', 'slow')])(
    'tries again to begin an item after: %s',
    async (refusal) => {
      const { ports, written } = world({ refusal });
      await expect(beginItemActivity(ports)('e', 'i')).rejects.toBe(refusal);
      expect(written).toEqual([]);
    },
  );

  it('notes why an item cannot begin', async () => {
    const { ports, written } = world({ refusal: new AppError('forbidden', 'You may start nothing') });
    expect(await beginItemActivity(ports)('e', 'i')).toBeNull();
    expect(written).toEqual([['settle', { status: 'error', grades: [], error: 'You may start nothing' }]]);
  });
});

describe('the stream of changes', () => {
  const of_ann = [{ kind: 'datasets', id: null, owner: 'ann' }];

  it.each<[string, OpenResult['task_status'], object[]]>([
    ['a graded item', 'completed', of_ann],
    ['an item whose run failed', 'failed', of_ann],
    ['no item whose run continues', 'running', []],
  ])('reports %s to the owner', async (_, task_status, expected) => {
    const { ports, changes } = world({ open: { task_status } });
    await gradeItemActivity(ports)('e', 'i');
    expect(changes).toEqual(expected);
  });

  it('reports an item that cannot begin to the owner', async () => {
    const { ports, changes } = world({ claimed: { owner: 'ann' }, refusal: new AppError('forbidden', 'You may start nothing') });
    await beginItemActivity(ports)('e', 'i');
    expect(changes).toEqual(of_ann);
  });
});

describe('an item', () => {
  it('that has a result is not graded', async () => {
    expect(await grade({ open: null })).toEqual({ state: 'settled', written: [] });
  });

  it('whose run continues is graded later', async () => {
    expect(await grade({ open: { task_status: 'running' } })).toEqual({ state: 'open', written: [] });
  });

  it.each([
    [null, null, 'The run was deleted before it was graded'],
    ['failed', 'no model', 'no model'],
    ['halted', null, 'The run was halted'],
  ])('whose run is %s with the error %j is an error: %s', async (task_status, error, words) => {
    const { state, written } = await grade({ open: { task_status, error } });
    expect([state, written]).toEqual(['settled', [['settle', { status: 'error', grades: [], error: words }]]]);
  });

  it.each([
    ['failed', 'no model', 'failed: no model'],
    ['halted', null, 'halted'],
  ])('is an error if the run of its judge is %s with the error %j', async (status, error, words) => {
    const open = { graders: [MODEL], grading: { 0: { task_id: 'judge' } } } as never;
    const { written } = await grade({ open, task: { id: 'judge', status, error } });
    const sentence = `Grader 1 (model): The judge's run was ${words}`;
    expect(written).toEqual([['settle', { status: 'error', grades: [], error: sentence }]]);
  });

  it('gets no judge once the record has its result', async () => {
    const { written } = await grade({ open: { graders: [MODEL] }, noted: null });
    expect(written.at(-1)).toEqual(['settle', { status: 'error', grades: [], error: 'Grader 1 (model): The item has a result' }]);
  });
});

it.each<[string, World, number]>([
  ['calls its tool', { open: { graders: [PYTHON] } }, 1],
  ['is of another kind', { open: { graders: [EXACT] } }, 0],
  ['has a result', { open: null }, 0],
  ['has graded', { open: { graders: [PYTHON], grading: { 0: { verdict: { passed: true, reason: null } } } as never } }, 0],
])('a grader that %s', async (_, values, calls) => {
  const { ports, written } = world(values);
  await inActivity({}, () => gradeByToolActivity(ports)('e', 'i', 0));
  expect(written.filter(([what]) => what === 'call')).toHaveLength(calls);
  expect(written.filter(([what]) => what === 'note')).toHaveLength(calls);
});
