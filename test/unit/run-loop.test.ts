import { describe, expect, it } from 'vitest';
import { type ExchangeOrder, type PlannedCall, type RunPorts, runLoop, START } from '../../src/domain/run-loop.ts';

/** A run whose model follows a script of rounds; it throws when the script runs out. */
function scripted(rounds: (string[] | 'repair')[], { renew_after = Number.POSITIVE_INFINITY } = {}) {
  const orders: ExchangeOrder[] = [];
  const acted: string[] = [];
  const ports: RunPorts = {
    async exchange(order) {
      orders.push(order);
      const round = rounds[orders.length - 1];
      if (!round) throw new Error('the script has run out');
      if (round === 'repair') return round;
      return round.map((name, index): PlannedCall => ({ call_id: `${order.step}-${index + 1}`, name }));
    },
    async act({ call_id }) {
      acted.push(call_id);
    },
    renew: () => orders.length >= renew_after,
  };
  return { ports, orders, acted };
}

describe('the agent loop', () => {
  it('ends with the first answer that calls no tool', async () => {
    const run = scripted([['a'], ['b', 'c'], []]);
    expect(await runLoop(run.ports, { max_turns: 5 })).toMatchObject({ ended: true, state: { step: 3, turns: 3 } });
    expect(run.acted).toEqual(['1-1', '2-1', '2-2']);
  });

  it('runs as many calls of a round as turns are left, and denies the others in the next exchange', async () => {
    const run = scripted([['a', 'b', 'c'], []]);
    await runLoop(run.ports, { max_turns: 2 });
    expect(run.acted).toEqual(['1-1', '1-2']);
    expect(run.orders[1]).toMatchObject({ denied: ['1-3'], turns: 2 });
  });

  it('reminds once more than half of the turns are used', async () => {
    const run = scripted([['a'], ['b'], ['c'], []]);
    await runLoop(run.ports, { max_turns: 4 });
    expect(run.orders.map(({ remind }) => remind)).toEqual([false, false, false, true]);
  });

  it('takes the tools away after two rounds with a denial', async () => {
    const run = scripted([['a'], ['b'], ['c'], []]);
    await runLoop(run.ports, { max_turns: 1 });
    expect(run.orders.map(({ tools_off }) => tools_off)).toEqual([false, false, false, true]);
    expect(run.acted).toEqual(['1-1']);
  });

  it('asks once more, without tools, after an answer that was rejected', async () => {
    const run = scripted([['a'], 'repair', []]);
    expect(await runLoop(run.ports, { max_turns: 5 })).toMatchObject({
      ended: true,
      state: { step: 3, turns: 1, repaired: true },
    });
    expect(run.orders.map(({ repaired, tools_off }) => [repaired, tools_off])).toEqual([
      [undefined, false],
      [undefined, false],
      [true, true],
    ]);
  });

  it('is renewed between a rejected answer and the next', async () => {
    const first = scripted(['repair'], { renew_after: 1 });
    const { ended, state } = await runLoop(first.ports, { max_turns: 5 });
    expect([ended, state]).toEqual([false, { ...START, step: 2, repaired: true }]);
    const second = scripted([[]]);
    await runLoop(second.ports, { max_turns: 5 }, state);
    expect(second.orders).toMatchObject([{ step: 2, repaired: true }]);
  });

  it('continues from the state it stopped at as if it had not stopped', async () => {
    const rounds = [['a'], ['b'], ['c'], []];
    const whole = scripted(rounds);
    await runLoop(whole.ports, { max_turns: 2 });
    const first = scripted(rounds, { renew_after: 2 });
    const { ended, state } = await runLoop(first.ports, { max_turns: 2 }, START);
    expect(ended).toBe(false);
    const second = scripted(rounds.slice(2));
    await runLoop(second.ports, { max_turns: 2 }, state);
    expect([...first.orders, ...second.orders]).toEqual(whole.orders);
  });
});
