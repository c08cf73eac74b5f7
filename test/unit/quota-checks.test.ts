import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/main/config.ts';
import { createQuotas } from '../../src/store/people/quota-checks.ts';
import { FULL } from '../../src/store/runs/tasks.ts';

/** A record of one owner's tasks. A statement sees those of the moment at which it began, and ends when the test lets it. */
function recordOf(most: number, stored: string[] = []) {
  const statements = { created: 0, counted: 0 };
  const answers = new Map<string, () => void>();
  const store = {
    storedBytes: async () => 0,
    openTasks: async () => {
      statements.counted += 1;
      return stored.length;
    },
  };
  const quotas = createQuotas(store, readConfig({ RUNNING_TASKS_PER_PRINCIPAL: String(most) }));
  const prompt = (name: string, fails = false) =>
    quotas
      .admitTask('alice', async (most_open) => {
        statements.created += 1;
        const open = stored.length;
        await new Promise<void>((resolve) => answers.set(name, resolve));
        if (fails) throw Object.assign(new Error('lost'), { code: 'lost' });
        if (open >= most_open) return FULL;
        stored.push(name);
        return 'admitted';
      })
      .catch(({ code }) => code);
  /** Answers these statements, and whatever follows at once. */
  const answer = async (...names: string[]) => {
    for (const name of names) {
      answers.get(name)?.();
      answers.delete(name);
    }
    await new Promise(setImmediate);
  };
  return { prompt, answer, stored, statements };
}

describe('A quota of tasks', () => {
  it('admits no task beyond the limit when others are admitted and stored while it is counted', async () => {
    const { prompt, answer, stored } = recordOf(2);
    const [slow, first, second] = [prompt('slow'), prompt('first'), prompt('second')];
    await answer('first');
    expect(await first).toBe('admitted');
    await answer('second');
    await answer('slow', 'second');
    expect(await slow).toBe('admitted');
    await answer('second');
    expect(await second).toBe('running_tasks_limit');
    expect(stored).toEqual(['first', 'slow']);
  });

  it('admits a task in the place of one that could not be stored', async () => {
    const { prompt, answer, stored } = recordOf(1);
    const [lost, next] = [prompt('lost', true), prompt('next')];
    await answer('lost');
    expect(await lost).toBe('lost');
    await answer('next');
    expect(await next).toBe('admitted');
    expect(stored).toEqual(['next']);
  });

  it('refuses each prompt of a flood after two statements', async () => {
    const { prompt, answer, statements } = recordOf(2, ['one', 'two']);
    const names = Array.from({ length: 100 }, (_, index) => `prompt ${index}`);
    const flood = names.map((name) => prompt(name));
    await answer(...names);
    expect(new Set(await Promise.all(flood))).toEqual(new Set(['running_tasks_limit']));
    expect(statements.created + statements.counted).toBeLessThanOrEqual(200);
  });
});
