import type { TestInstallation } from '../installation.ts';
import { until } from '../until.ts';

/** A dollar for a thousand tokens: the 15 tokens of an ordinary answer cost 0.015. */
export const PRICES = { '*': { input: 1_000, output: 1_000 } };

export const usage = (prompt_tokens: number, completion_tokens: number) => ({
  usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
});

/** Returns a promise, and the function that ends it. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** Creates budgets, and workflows of Alice whose models have prices. */
export function openBudgets(here: TestInstallation) {
  const { alice } = here;
  const provider = async (values: object = {}): Promise<string> => {
    const name = here.unique('priced');
    const ordinary = { provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted' };
    return (await alice.ok(alice.post('/api/providers', { name, price_table: PRICES, ...ordinary, ...values }))).id;
  };
  const task = (id: string) => alice.ok(alice.get(`/api/tasks/${id}`));
  return {
    provider,
    task,
    /** Creates a workflow whose answers have 7 tokens at most. */
    workflow: async (values: object = {}, provider_values: object = {}) =>
      here.workflow({ agent: { provider_id: await provider(provider_values) }, workflow: { max_output_tokens: 7, ...values } }),
    budget: async (values: object, who = alice): Promise<Record<string, any>> =>
      who.ok(who.post('/api/budgets', { name: 'Team', scope: 'person', period: 'day', ...values }), 201),
    change: (id: string, values: object) => alice.ok(alice.put(`/api/budgets/${id}`, values)),
    read: (id: string) => alice.ok(alice.get(`/api/budgets/${id}`)),
    waiting: (task_id: string) => until('the wait', async () => (await task(task_id)).status === 'waiting'),
    async logs(task_id: string, event: string): Promise<any[]> {
      const { logs } = await alice.ok(alice.get(`/api/tasks/${task_id}?include=logs`));
      return logs.filter((one: { event: string }) => one.event === event);
    },
    reservations: () => here.sql('SELECT * FROM budget_reservations'),
    waits: () => here.sql('SELECT task_id, budget_id, reason FROM budget_waits ORDER BY since'),
  };
}
