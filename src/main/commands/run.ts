import { text } from 'node:stream/consumers';
import type { Config } from '../config.ts';
import { parseCommand } from '../remote/options.ts';
import { remoteClient, workflowNamed } from '../remote/place.ts';
import { showNewRun } from '../remote/show-run.ts';

/** `perdura run`: with --follow it exits with 0 if the run was completed, and 1 if it failed or was halted. */
export default async function run(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('run', args);
  const [name = '', prompt_argument = ''] = given.words;
  const client = await remoteClient(config);
  const workflow_id = await workflowNamed(client, name);
  const prompt = prompt_argument === '-' ? await text(process.stdin) : prompt_argument;
  await showNewRun(client, await client.runs.start(workflow_id, prompt), given);
}
