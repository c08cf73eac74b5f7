import type { PerduraClient, Task, TaskDetail } from '../../client/index.ts';
import type { Config } from '../config.ts';
import { loadItems } from '../remote/list.ts';
import { countOf, type Given, parseCommand } from '../remote/options.ts';
import { remoteClient, workflowNamed } from '../remote/place.ts';
import { showNewRun } from '../remote/show-run.ts';
import { cut, formatTime, sayTable } from '../remote/table.ts';
import { note, printable, say, sayJson } from '../terminal.ts';

/** `perdura tasks ls|show|halt|retry`: the caller's runs. */
export default async function tasks(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('tasks', args);
  const limit = countOf(given, 'tasks') ?? 20;
  const client = await remoteClient(config);
  if (given.verb === 'ls') return list(client, given, limit);
  const task_id = given.words[0]!;
  if (given.verb === 'show') return show(await client.tasks.get(task_id), given);
  if (given.verb === 'retry') return retry(client, task_id, given);
  const reply = await client.tasks.stop(task_id);
  if (given.has('json')) sayJson(reply);
  else say(`Asked to stop: ${task_id}; it ends within seconds`);
}

async function list(client: PerduraClient, given: Given, limit: number): Promise<void> {
  const [status, workflow] = [given.text('status'), given.text('workflow')];
  const query = { ...(status ? { status } : {}), ...(workflow ? { workflow_id: await workflowNamed(client, workflow) } : {}) };
  const matches = await loadItems<Task>(client, 'GET /api/tasks', limit, query);
  if (given.has('json')) return sayJson(matches);
  sayTable(
    ['ID', 'STATUS', 'CREATED', 'WORKFLOW', 'PROMPT'],
    matches.map(({ id, status: state, created_at, workflow_title, agent_name, prompt }) => [
      ...[
        id,
        state,
        formatTime(created_at),
        cut(workflow_title ?? agent_name, 24),
        cut(prompt.replaceAll(/\s+/g, ' ').trim(), 60),
      ],
    ]),
  );
  const waiting = matches.find((task) => task.status === 'waiting');
  if (waiting) note(`To see what a run waits for, and what to do: perdura logs ${waiting.id}`);
}

function show(task: TaskDetail, given: Given): void {
  if (given.has('json')) {
    sayJson(task);
    return;
  }
  const { usage, response } = task;
  const facts: [string, string][] = [
    ['id', task.id],
    ['status', task.status],
    ['workflow', `${task.workflow_title ?? '-'} (${task.workflow_id})`],
    ['agent', `${task.agent_name} (${task.agent_id})`],
    ['model', task.model ?? '-'],
    ['created', formatTime(task.created_at)],
    ['started', formatTime(task.started_at)],
    ['ended', formatTime(task.completed_at)],
    ['work', `${task.steps} steps, ${task.tool_calls} tool calls`],
    ['usage', `${usage.total_in} tokens in, ${usage.total_out} out, ${formatCost(usage)}`],
    ['prompt', task.prompt],
    ...(task.error ? ([['error', task.error]] satisfies [string, string][]) : []),
  ];
  for (const [name, text] of facts) say(`${name.padEnd(9)} ${printable(text)}`);
  if (response !== null) say(`\n${typeof response === 'string' ? response : JSON.stringify(response, null, 2)}`);
}

const formatCost = ({ cost, priced }: TaskDetail['usage']) =>
  cost === null ? 'cost unknown' : `$${cost}${priced ? '' : ', cost partly unknown'}`;

/** Sends the prompt again, with the files of the run. */
async function retry(client: PerduraClient, task_id: string, given: Given): Promise<void> {
  const { workflow_id, prompt, attachments, reasoning_effort } = await client.tasks.get(task_id, { include: '' });
  const files = attachments.map(({ id }) => ({ id }));
  const body = { prompt, ...(files.length > 0 ? { attachments: files } : {}), ...(reasoning_effort ? { reasoning_effort } : {}) };
  await showNewRun(client, await client.runs.start(workflow_id, body as never), given);
}
