import { afterEach, describe, expect, it, vi } from 'vitest';
import { getRequestedState, listStatusWarnings, prepareDeletion } from '../../../src/api/routes/workflow-states.ts';

type Sent = Parameters<typeof getRequestedState>[0];

afterEach(() => void vi.useRealTimers());

describe('a change of a workflow', () => {
  it.each<[Sent, present: string, requested: string | null]>([
    [{}, 'active', null],
    [{ status: 'inactive' }, 'active', 'inactive'],
    [{ status: 'active' }, 'inactive', 'active'],
    [{ status: 'completed' }, 'completed', null],
    [{ enabled: false }, 'completed', 'inactive'],
    [{ enabled: true }, 'inactive', 'active'],
    [{ status: 'completed', enabled: false }, 'completed', 'inactive'],
    // A client that sends back both has changed the one that differs from the record.
    [{ status: 'inactive', enabled: true }, 'inactive', 'active'],
    [{ status: 'inactive', enabled: true }, 'failed', 'inactive'],
    [{ status: 'active', enabled: false }, 'inactive', 'active'],
    [{ status: 'active', enabled: false }, 'halted', 'inactive'],
    [{ status: 'inactive', enabled: false }, 'active', 'inactive'],
  ])('%j of one that is %s asks for %s', (sent, status, requested) => {
    expect(getRequestedState(sent, { status })).toBe(requested);
  });

  it('may not ask for a status that runs set, and is warned if a whole record has an old one', () => {
    const warned = (status: Sent['status'], present: string, whole: boolean) =>
      listStatusWarnings(status, { status: present }, { whole }).map(({ path }) => path);
    expect([warned(undefined, 'active', false), warned('active', 'failed', false), warned('inactive', 'failed', false)]).toEqual([
      ...[[], [], []],
    ]);
    expect(warned('failed', 'failed', false)).toEqual([]);
    expect(warned('running', 'completed', true)).toEqual(['status']);
    for (const status of ['running', 'waiting', 'completed', 'failed', 'halted'] as const)
      expect(() => warned(status, 'active', false), status).toThrow(`The status ${status} is only set by runs`);
  });
});

it('a workflow is not deleted while a run of it does not end within ten seconds', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] });
  const halted: string[] = [];
  const services = {
    store: { scheduledAgents: { list: async () => ({ items: [] }) }, tasks: { listOpenIds: async () => ['t'] } },
    dispatch: { halt: async (id: string) => void halted.push(id) },
  };
  const workflow = { id: 'w', owner_key: 'local:ann' };
  const refused = expect(prepareDeletion(services as never, workflow as never, true)).rejects.toMatchObject({
    code: 'workflow_running',
  });
  await vi.advanceTimersByTimeAsync(10_100);
  await refused;
  expect(halted).toEqual(['t']);
});
