import { describe, expect, it } from 'vitest';
import { describeRunTask } from '../../../src/api/compat/mcp/run-tasks.ts';
import { TASK_STATUSES } from '../../../src/domain/statuses.ts';

const AT = {
  created_at: '2026-01-31T12:00:00.000Z',
  started_at: '2026-01-31T12:00:07.000Z',
  completed_at: '2026-01-31T12:00:31.000Z',
};
const task = (more: object = {}) => describeRunTask({ id: 't-1', status: 'running', error: null, ...AT, ...more } as never);

describe('a run as a task of MCP', () => {
  it('has the status that clients know', () => {
    expect(Object.fromEntries(TASK_STATUSES.map((status) => [status, task({ status }).status]))).toEqual({
      ...{ pending: 'working', running: 'working', waiting: 'working' },
      ...{ completed: 'completed', failed: 'failed', halted: 'cancelled' },
    });
  });

  it('has the time of its last change', () => {
    expect(task()).toMatchObject({ taskId: 't-1', ttl: null, createdAt: AT.created_at, lastUpdatedAt: AT.completed_at });
    expect(task({ completed_at: null }).lastUpdatedAt).toBe(AT.started_at);
    expect(task({ completed_at: null, started_at: null }).lastUpdatedAt).toBe(AT.created_at);
  });

  it('has the reason why it waits or failed', () => {
    expect(task({ status: 'waiting', error: 'No' }).statusMessage).toBe('Waits for a decision in Perdura');
    expect(task({ status: 'failed', error: 'No' }).statusMessage).toBe('No');
    expect(task()).not.toHaveProperty('statusMessage');
  });
});
