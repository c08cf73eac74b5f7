import { describe, expect, it } from 'vitest';
import { postgresBus } from '../../src/events/postgres-bus.ts';
import { until } from '../support/until.ts';

/** Nothing listens on port 1. */
const NOWHERE = { host: '127.0.0.1', port: 1, user: 'nobody', database: 'nothing' };

describe('a bus whose server does not answer', () => {
  const openBus = () => {
    const lines: string[] = [];
    return { lines, bus: postgresBus({ connection: NOWHERE, pool: {} as never, log: (line) => void lines.push(line) }) };
  };

  it('is not ready, and logs why', async () => {
    const { bus, lines } = openBus();
    await expect(bus.ping()).rejects.toThrow('The event connection is down');
    await until('a line about the connection', async () => lines.length > 0);
    expect(lines[0]).toMatch(/^The event connection is down, connecting again: .*ECONNREFUSED/);
    await bus.close();
  });

  it('logs nothing if it is closed while it connects', async () => {
    const { bus, lines } = openBus();
    await bus.close();
    expect(lines).toEqual([]);
  });
});
