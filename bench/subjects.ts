import { type Client, client } from './client.ts';
import type { Model, Started } from './installation.ts';
import { rawLoop } from './raw-loop.ts';

/** One way to execute a run, with the prompt that makes it three steps long. */
export interface Subject {
  name: 'raw' | 'engine' | 'python';
  /** The text about it for readers of the report. */
  label: string;
  three_steps: string;
  /** `slot` distinguishes simultaneous runs: a workflow has one run at a time. */
  run(slot: number, prompt: string, on_first?: () => void): Promise<void>;
}

const LOOKUP = `def lookup(q: str) -> str:
    """Looks something up.

    Args:
        q: what to look up
    """
    return f"value of {q}"
`;

const prompt = (tool: string) => `Find it out. [[turns=3;tokens=50;tool=${tool}]]`;

/** Creates the provider of the scripted model, with its key, and returns its id. */
export async function createProvider(create: Client['create'], { url }: Model, more: object = {}): Promise<string> {
  await create('/api/tokens', { name: 'scripted-key', value: 'a key that must be opened at each step' });
  return create('/api/providers', {
    name: 'scripted',
    provider_type: 'openai_compatible',
    api_key_token_name: 'scripted-key',
    base_url: url,
    default_model: 'scripted',
    ...more,
  });
}

/**
 * Returns the raw loop, runs whose tool needs no other process, and runs whose tool is custom Python, with a workflow for each
 * slot.
 */
export async function subjectsOf({ installation, token }: Started, model: Model, slots: number): Promise<Subject[]> {
  const { create, run } = client(installation, token);
  const raw = rawLoop(model.url);
  const provider_id = await createProvider(create, model);
  const tool = await create('/api/custom-tools', { name: 'lookup', source_code: LOOKUP, effect: 'read' });
  const workflows = async (name: string, tools: object) => {
    const agent_id = await create('/api/agents', { name, provider_id, ...tools });
    const made = Array.from({ length: slots }, () => create('/api/workflows', { agent_id, output_format: 'markdown' }));
    return Promise.all(made);
  };
  const engine = await workflows('bench built-in', { builtin_tools: ['manage_todo_list'] });
  const python = await workflows('bench Python', { custom_tool_ids: [tool] });
  return [
    { name: 'raw', label: 'raw loop', three_steps: prompt('lookup'), run: (_slot, text, on_first) => raw(text, on_first) },
    {
      name: 'engine',
      label: 'Perdura, built-in tool',
      three_steps: prompt('manage_todo_list'),
      run: (slot, text, on_first) => run(engine[slot] as string, text, { on_first }),
    },
    {
      name: 'python',
      label: 'Perdura, Python tool',
      three_steps: prompt('lookup'),
      run: (slot, text, on_first) => run(python[slot] as string, text, { on_first }),
    },
  ];
}
