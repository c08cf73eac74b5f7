import type { Config } from '../config.ts';
import { FOLLOW_OPTION, JSON_OPTION, parsed } from '../remote/options.ts';
import { remoteClient } from '../remote/place.ts';
import { followed, lineOf, recordedLines } from '../remote/show-run.ts';
import { say, sayJson } from '../terminal.ts';

/** `perdura logs <task>`: the record so far; with -f every event until the run has ended. */
export default async function logs(config: Config, args: string[]): Promise<void> {
  const { values, words } = parsed('logs', args, { options: { ...JSON_OPTION, ...FOLLOW_OPTION }, words: ['task'] });
  const client = await remoteClient(config);
  const task_id = words[0] as string;
  if (values.follow) {
    const show = (event: Parameters<typeof lineOf>[0]) => {
      const line = values.json ? JSON.stringify(event) : lineOf(event);
      if (line !== null) say(line);
    };
    await followed({ client, task_id, show });
    return;
  }
  const task = await client.tasks.get(task_id);
  if (values.json) sayJson({ logs: task.logs, messages: task.messages });
  else for (const line of recordedLines(task)) say(line);
}
