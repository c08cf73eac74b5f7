import type { Client } from '../client.ts';
import type { TestInstallation } from '../installation.ts';
import { type Answer, fails } from '../peers/model-server.ts';

/** A refusal that is not tried again, for the reason `quota`. */
export const outOfQuota: Answer = fails(429, { message: 'You exceeded your current quota, please check your plan and billing' });

/** A tool that writes a line into the files of its run and returns how many there are: a call that is repeated counts twice. */
export const WRITE_LINE = `import os
def write_line(text: str) -> int:
    path = os.path.join(os.environ['PERDURA_WORKSPACE'], 'lines.txt')
    with open(path, 'a') as file:
        file.write(text + '\\n')
    return len(open(path).readlines())
`;

/** Creates a provider and returns its id. */
export const providerOf = async (by: Client, values: object): Promise<string> =>
  (await by.ok(by.post('/api/providers', { name: crypto.randomUUID(), ...values }), 201)).id;

/** An endpoint of OpenAI's kind. */
export const openaiAt = (url: string, more: object = {}) => ({
  provider_type: 'openai_compatible',
  base_url: url,
  default_model: 'scripted',
  ...more,
});

/** The log events of a run with this name, oldest first. */
export const logsOf = async (here: Pick<TestInstallation, 'alice'>, task_id: string, name: string): Promise<any[]> => {
  const { logs } = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}?include=logs`));
  return logs.filter(({ event }: { event: string }) => event === name);
};

/** Each step of a run with who answered it. */
export const answersOf = async (here: Pick<TestInstallation, 'alice'>, task_id: string) => {
  const { steps_detail } = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}?include=steps`));
  return steps_detail.map(({ provider_id, fallback, model }: Record<string, unknown>) => ({ provider_id, fallback, model }));
};
