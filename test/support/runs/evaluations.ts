import type { TestInstallation } from '../installation.ts';
import { type Answer, type ModelRequest, says } from '../peers/model-server.ts';
import { until } from '../until.ts';

/** Returns the prompt of a request to the model. */
export const promptOf = ({ messages }: ModelRequest) => messages.findLast(({ role }) => role === 'user')?.content ?? '';

/** Creates an answer for each prompt: the text stored under it. */
export const answerByPrompt =
  (answers: Record<string, string>): Answer =>
  (response, request) => {
    const found = Object.entries(answers).find(([prompt]) => promptOf(request).includes(prompt));
    return says(found?.[1] ?? 'I do not know.')(response, request);
  };

export interface Ended {
  evaluation: Record<string, any>;
  results: Record<string, any>[];
}

/** Creates datasets of Alice, and their evaluations. */
export function openEvaluations({ alice }: Pick<TestInstallation, 'alice'>) {
  let made = 0;
  const order = (dataset_id: string, body: object) => alice.post(`/api/datasets/${dataset_id}/runs`, body);
  return {
    order,
    /** Creates a dataset; each item is a prompt with its expected answer. */
    async dataset(items: Record<string, unknown>): Promise<string> {
      const { id } = await alice.ok(alice.post('/api/datasets', { name: `dataset ${++made}` }), 201);
      for (const [prompt, expected] of Object.entries(items))
        await alice.ok(alice.post(`/api/datasets/${id}/items`, { prompt, expected }), 201);
      return id;
    },
    async begin(dataset_id: string, body: object): Promise<string> {
      const values = { graders: [{ type: 'exact' }], ...body };
      return `/api/datasets/${dataset_id}/runs/${(await alice.ok(order(dataset_id, values), 201)).id}`;
    },
    /** Waits until an evaluation has ended. */
    async ended(path: string, timeout_ms = 60_000): Promise<Ended> {
      await until('the evaluation has ended', async () => (await alice.get(path)).body.status !== 'running', timeout_ms);
      const evaluation = await alice.ok(alice.get(path));
      return { evaluation, results: (await alice.ok(alice.get(`${path}/results`))) as Record<string, any>[] };
    },
  };
}
