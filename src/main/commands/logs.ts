import type { Config } from '../config.ts';
import { FOLLOW_OPTION, JSON_OPTION, parseOptions } from '../remote/options.ts';
import { remoteClient } from '../remote/place.ts';
import { followRun, formatEvent, formatRecord } from '../remote/show-run.ts';
import { say, sayJson } from '../terminal.ts';

/** `perdura logs <task>`: prints the record so far; with -f, every event until the run has ended. */
export default async function logs(config: Config, args: string[]): Promise<void> {
  const { values, words } = parseOptions('logs', args, { options: { ...JSON_OPTION, ...FOLLOW_OPTION }, words: ['task'] });
  const client = await remoteClient(config);
  const task_id = words[0] as string;
  if (values.follow) {
    const show = (event: Parameters<typeof formatEvent>[0]) => {
      const line = values.json ? JSON.stringify(event) : formatEvent(event);
      if (line !== null) say(line);
    };
    await followRun({ client, task_id, show });
    return;
  }
  const task = await client.tasks.get(task_id);
  if (values.json) sayJson({ logs: task.logs, messages: task.messages });
  else for (const line of formatRecord(task)) say(line);
}
