import { text } from 'node:stream/consumers';
import type { Config } from '../config.ts';
import { FOLLOW_OPTION, JSON_OPTION, parseOptions } from '../remote/options.ts';
import { remoteClient, workflowNamed } from '../remote/place.ts';
import { createTextPrinter, followRun } from '../remote/show-run.ts';
import { note, say, sayJson } from '../terminal.ts';

/** `perdura run`: with --follow it exits with 0 if the run was completed, and 1 if it failed or was halted. */
export default async function run(config: Config, args: string[]): Promise<void> {
  const { values, words } = parseOptions('run', args, {
    options: { ...JSON_OPTION, ...FOLLOW_OPTION },
    words: ['workflow', 'prompt'],
  });
  const [name = '', prompt_argument = ''] = words;
  const client = await remoteClient(config);
  const workflow_id = await workflowNamed(client, name);
  const prompt = prompt_argument === '-' ? await text(process.stdin) : prompt_argument;
  const new_run = await client.runs.start(workflow_id, prompt);
  const { task_id, warnings = [] } = new_run;
  for (const { message } of warnings) note(`warning: ${message}`);
  if (!values.follow) {
    if (values.json) sayJson(new_run);
    else say(task_id);
    return;
  }
  note(`task ${task_id}`);
  const show = values.json ? (event: object) => say(JSON.stringify(event)) : createTextPrinter();
  const task = await followRun({ client, task_id, show });
  if (!task) return;
  if (task.error) note(task.error);
  if (task.status !== 'completed') process.exitCode = 1;
}
