import { setTimeout as wait } from 'node:timers/promises';
import { asks, fails, type ModelServer, says } from '../support/peers/model-server.ts';

export interface Api {
  send<T = { id: string }>(method: 'GET' | 'POST', path: string, body?: object): Promise<T>;
}

const FIND = `EFFECT = "read"

def find_order(order_id: str) -> dict:
    """Reads an order.

    Args:
        order_id: its number, as on the invoice
    """
    return {"order": order_id, "paid_usd": 57.25, "state": "delivered"}
`;

const REFUND = `EFFECT = "write"

def refund_order(order_id: str, amount_usd: float) -> dict:
    """Refunds an order to the card that paid for it.

    Args:
        order_id: its number, as on the invoice
        amount_usd: the sum in US dollars
    """
    return {"order": order_id, "refunded_usd": amount_usd}
`;

const usage = (prompt_tokens: number, completion_tokens: number) => ({
  usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
});

/** The runs of the office that the pictures show, and what its model answers to each. Their numbers differ. */
const ANSWERED: [prompt: string, answer: string, tokens: number][] = [
  ['Was order 4702 delivered?', 'Order 4702 was **delivered** on Tuesday. It cost $57.25.', 1_207],
  ['What did order 4705 cost?', 'Order 4705 cost **$57.25**, shipping included.', 1_931],
  ['أين طلبي رقم 4706؟', 'تم تسليم الطلب 4706 يوم الثلاثاء.', 1_103],
  ['Où est ma commande 4709 ?', 'La commande 4709 a été livrée mardi.', 1_409],
];

export interface Story {
  /** The run that waits for approval. */
  waiting: string;
  completed: string;
  workflow: string;
}

/** Fills an installation with the records and runs of a small office. */
export async function tellStory(api: Api, model: ModelServer): Promise<Story> {
  const create = async (path: string, body: object) => (await api.send('POST', `/api/${path}`, body)).id;
  const provider_id = await create('providers', {
    ...{ name: 'Office models', provider_type: 'openai_compatible', base_url: model.url, default_model: 'scripted' },
    price_table: { '*': { input: 2.5, output: 10 } },
  });
  const custom_tool_ids = [
    await create('custom-tools', { name: 'find_order', source_code: FIND }),
    await create('custom-tools', { name: 'refund_order', source_code: REFUND }),
  ];
  const system_prompt = 'You answer customers about their orders. Refund only what was paid.';
  const agent = { name: 'Refund desk', system_prompt, provider_id, custom_tool_ids, approve_effects: ['write'] };
  const agent_id = await create('agents', agent);
  const title = 'Refund desk';
  const budget = { max_cost_usd: 2.5 };
  const workflow = await create('workflows', { title, agent_id, output_format: 'markdown', max_turns: 20, budget });
  const reports = await create('workflows', { title: 'Weekly report', agent_id, output_format: 'markdown' });
  await create('scheduled-agents', {
    ...{ name: 'Every Monday', workflow_id: reports, prompt: 'Write the report of last week.' },
    ...{ cron: '30 7 * * MON', time_zone: 'Europe/Berlin' },
  });
  await create('budgets', { name: 'The office, a month', scope: 'person', period: 'month', limit_usd: 50 });
  await create('alerts', { name: 'Many runs fail', measure: 'failure_rate', threshold: 20 });
  await create('skills', { name: 'Politeness', instructions: 'Thank the customer once.' });

  const start = async (id: string, prompt: string) =>
    (await api.send<{ task_id: string }>('POST', `/api/workflows/${id}/prompt`, { prompt })).task_id;
  const until = async (id: string, status: string) => {
    for (let tries = 0; tries < 300; tries++, await wait(200))
      if ((await api.send<{ status: string }>('GET', `/api/tasks/${id}`)).status === status) return id;
    throw new Error(`The run ${id} did not become ${status}`);
  };
  const find = (order_id: string) => asks({ name: 'find_order', args: { order_id } });
  let completed = '';
  for (const [prompt, answer, tokens] of ANSWERED) {
    const [order = ''] = /\d+/.exec(prompt) ?? [];
    model.script(find(order), says(answer, usage(tokens, 43)));
    completed = await until(await start(workflow, prompt), 'completed');
  }
  model.script(fails(400, { message: 'This model was retired' }));
  await until(await start(reports, 'Write the report of last week.'), 'failed');
  const refund = {
    name: 'refund_order',
    args: { order_id: '4711', amount_usd: 57.25 },
    text: 'Order 4711 was paid. I refund it.',
  };
  model.script(find('4711'), asks(refund));
  const prompt = 'Customer 881 returned order 4711. Refund what was paid.';
  return { waiting: await until(await start(workflow, prompt), 'waiting'), completed, workflow };
}
