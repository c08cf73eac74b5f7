import type { Config } from '../config.ts';
import { parseCommand } from '../remote/options.ts';
import { remoteClient } from '../remote/place.ts';
import { followRun, formatEvent, formatRecord } from '../remote/show-run.ts';
import { say, sayJson } from '../terminal.ts';

/** `perdura logs <task>`: prints the record so far; with -f, every event until the run has ended. */
export default async function logs(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('logs', args);
  const client = await remoteClient(config);
  const task_id = given.words[0]!;
  if (given.has('follow')) {
    const show = (event: Parameters<typeof formatEvent>[0]) => {
      const line = given.has('json') ? JSON.stringify(event) : formatEvent(event);
      if (line !== null) say(line);
    };
    await followRun({ client, task_id, show });
    return;
  }
  const task = await client.tasks.get(task_id);
  if (given.has('json')) sayJson({ logs: task.logs, messages: task.messages });
  else for (const line of formatRecord(task)) say(line);
}
