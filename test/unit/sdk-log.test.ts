import { ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import { describe, expect, it } from 'vitest';
import { OutageError } from '../../src/domain/outages.ts';
import { activityPlaces, formatEntry } from '../../src/temporal/worker/sdk-log.ts';

const TASK = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';
const META = { workflowId: `task-${TASK}`, taskToken: 'secret', activityType: 'exchange', attempt: 1, step: 4 };

const format = (error: unknown, more: object = {}, message = 'Activity failed') =>
  formatEntry({ message, level: 'WARN', meta: { ...META, ...more, error } as never });

describe('an entry of the log of the engine’s SDK', () => {
  it('names the task of a run, the execution of anything else, and never the token of an attempt', () => {
    const { fields } = formatEntry({ message: 'Heartbeat', level: 'DEBUG', meta: { ...META, other: 7 } as never });
    expect(fields).toEqual({ task_id: TASK, activityType: 'exchange', attempt: 1, step: 4, other: 7 });
    const reconciling = formatEntry({ message: 'x', level: 'INFO', meta: { workflowId: 'reconcile-perdura' } as never });
    expect(reconciling).toEqual({ message: 'x', level: 'INFO', fields: { workflowId: 'reconcile-perdura' } });
    expect(formatEntry({ message: 'x', level: 'INFO' })).toEqual({ message: 'x', level: 'INFO', fields: {} });
  });

  it.each([
    [{}, 'Step 4 failed: model_error: The model is down'],
    [{ attempt: 3 }, 'Step 4 failed (attempt 3): model_error: The model is down'],
    [{ step: undefined, call_id: '4-2' }, 'The call 4-2 failed: model_error: The model is down'],
    [{ step: undefined }, 'The activity exchange failed: model_error: The model is down'],
    [{ step: undefined, activityType: undefined }, 'The workflow failed: model_error: The model is down'],
  ])('about a failure that was meant is one line without a stack: %j', (more, message) => {
    const failure = ApplicationFailure.retryable('The model\n  is down', 'model_error');
    const entry = format(failure, more);
    expect(entry).toMatchObject({ message, level: 'WARN', fields: { task_id: TASK, error_code: 'model_error' } });
    expect(entry).not.toHaveProperty('error');
    expect(Object.values(entry.fields)).not.toContain(undefined);
  });

  it('about a halt is not a failure', () => {
    const entry = format(ApplicationFailure.nonRetryable('The run was halted', 'Halted'));
    expect(entry).toMatchObject({ level: 'INFO', message: 'Step 4 stopped: the run was halted' });
  });

  it.each([
    ['a cancellation', new CancelledFailure('CANCELLED')],
    ['an outage', new OutageError({ code: 'disk_full', sentence: 'The disk is full' })],
    ['the workflow’s own failure', { stack: 'ApplicationFailure: no\n at x', message: 'no' }],
  ])('about %s has no stack', (_, error) => {
    expect(format(error)).not.toHaveProperty('error');
    expect(format(error, {}, 'Workflow failed')).not.toHaveProperty('error');
  });

  it.each([
    ["of Perdura's code", new TypeError('x is not a function')],
    ["of Perdura's code, as the SDK hands it on", ApplicationFailure.retryable('x', 'TypeError')],
    ['that was not expected', ApplicationFailure.nonRetryable('x', 'internal')],
    ['of no type', ApplicationFailure.retryable('x')],
  ])('about a failure %s keeps its stack', (_, error) => {
    expect(format(error)).toMatchObject({ message: 'Activity failed', level: 'WARN', error });
  });

  it('keeps the stack of whatever is not the failure of a run', () => {
    const failure = ApplicationFailure.retryable('x', 'model_error');
    expect(format(failure, {}, 'Worker failed')).toMatchObject({ message: 'Worker failed', error: failure });
  });
});

it.each([
  [['task', '4-2'], { call_id: '4-2' }],
  [['task', { step: 4, turns: 7 }], { step: 4 }],
  [['task'], {}],
  [['task', null], {}],
])('the log of an activity says which step or call it is of: %j', async (args, place) => {
  const { inbound, outbound } = activityPlaces({} as never);
  const result = await inbound!.execute!({ args, headers: {} } as never, async () => 'done');
  const attributes = outbound!.getLogAttributes!({ other: '7' }, (given) => given);
  expect([result, attributes]).toEqual(['done', { other: '7', ...place }]);
});
