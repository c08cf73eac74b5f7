import type { Caller } from '../../../identity/caller.ts';
import type { CompatServices } from '../runs.ts';

const MOST_TOOLS = 1_000;
const NAME_CHARACTERS = 48;

const PROMPT_SCHEMA = {
  type: 'object' as const,
  properties: { prompt: { type: 'string', description: 'What the agent is to do' } },
  required: ['prompt'],
};

const RUN_SCHEMA = {
  type: 'object' as const,
  properties: {
    answer: { description: 'Text, or JSON if the workflow has a JSON output format' },
    task_id: { type: 'string', description: 'The run, as in GET /api/tasks/{id}' },
    workflow_id: { type: 'string' },
  },
  required: ['answer', 'task_id', 'workflow_id'],
};

interface RunTool {
  name: string;
  description: string;
  /** The model that the tool runs: the id of a workflow, or the name of an agent. */
  model: string;
}

/** Lists the caller's workflows, then the agents. */
export async function listTools({ store }: CompatServices, caller: Caller): Promise<RunTool[]> {
  const [workflows, agents] = await Promise.all([
    store.workflows.list({ limit: MOST_TOOLS, owner: caller.key, single_use: false }),
    store.agents.list({ limit: MOST_TOOLS }),
  ]);
  return [
    ...workflows.items.map(({ id, title }) => ({
      name: formatToolName(title ?? 'workflow', id),
      description: `Runs the workflow ${title ?? id} and returns its answer`,
      model: id,
    })),
    ...agents.items.map(({ id, name, description }) => ({
      name: formatToolName(name, id),
      description: description || `Runs the agent ${name} and returns its answer`,
      model: name,
    })),
  ];
}

export const toMcpTool = ({ name, description }: RunTool) => ({
  name,
  description,
  inputSchema: PROMPT_SCHEMA,
  outputSchema: RUN_SCHEMA,
  execution: { taskSupport: 'optional' as const },
});

/** Makes a tool name of a title and a part of the id, because titles repeat. */
function formatToolName(title: string, id: string): string {
  const words = title
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|(?<!_)_+$/g, '');
  return `${words.slice(0, NAME_CHARACTERS) || 'workflow'}_${id.slice(-8)}`;
}
