import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestInstallation } from '../installation.ts';
import { type Answer, asks } from '../peers/model-server.ts';
import { until } from '../until.ts';
import { recordCopy } from './record-copy.ts';

/** Returns the external effects of a paying tool, oldest first: `call order`. */
export const paidIn = async (place: string) => (await readFile(place, 'utf8').catch(() => '')).split('\n').filter(Boolean);

let made = 0;

/** Creates a workflow whose tool writes to a file in the folder, then waits while its gate is closed; it fails to pay `nothing`. */
export async function openShop(here: TestInstallation, folder: string, effect = 'write') {
  const place = join(folder, `paid-${++made}`);
  const gate = `${place}-gate`;
  const source = `
import os, time
EFFECT = "${effect}"
def pay(order: str) -> str:
    with open(${JSON.stringify(place)}, "a") as f: f.write(os.environ["PERDURA_CALL_KEY"].split(":")[1] + " " + order + "\\n")
    while os.path.exists(${JSON.stringify(gate)}): time.sleep(0.02)
    if order == "nothing": raise ValueError("there is nothing to pay")
    return "paid " + order
`;
  const workflow_id = await here.workflow({ tools: [source] });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  const { name } = await here.alice.ok(here.alice.get(`/api/custom-tools/${custom_tool_ids[0]}`));
  return {
    ...{ workflow_id, agent_id, name, place },
    /** A model answer that calls the tool. */
    pay: (order: string) => asks({ name, args: { order } }),
    paid: (call_id: string) =>
      until(`the effect of ${call_id}`, async () => (await paidIn(place)).some((line) => line.startsWith(call_id))),
    close: () => writeFile(gate, ''),
    open: () => rm(gate, { force: true }),
    copy: () => recordCopy(here.core.database.pool, workflow_id),
  };
}

/** Creates a model answer that is sent only when it is released. */
export function holdAnswer(answer: Answer) {
  const released = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const late: Answer = async (response, request) => {
    asked.resolve();
    await released.promise;
    await answer(response, request);
  };
  return { asked: asked.promise, release: released.resolve, answer: late };
}
