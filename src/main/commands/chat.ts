import type { Config } from '../config.ts';
import { talkByLines } from '../conversation/piped.ts';
import { chooseThread, listThreads, readNames, showThreads } from '../conversation/threads.ts';
import { talk } from '../conversation/typed.ts';
import { parseCommand } from '../remote/options.ts';
import { remoteClient } from '../remote/place.ts';
import { note, sayJson } from '../terminal.ts';

/** `perdura chat`: a conversation. Without a terminal, ends with 1 if a turn failed. */
export default async function chat(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('chat', args);
  const json = given.has('json');
  const names = readNames(given);
  const client = await remoteClient(config);
  const choice = await chooseThread(client, names);
  if (choice === null) {
    const threads = await listThreads(client);
    if (json) return sayJson(threads);
    if (threads.length > 0) showThreads(threads);
    return note(`To begin a thread: perdura chat <agent> --new; to continue one: perdura chat --thread <id>`);
  }
  const has_terminal = process.stdin.isTTY && process.stderr.isTTY;
  if ('thread' in choice)
    note(`Continuing ${JSON.stringify(choice.thread.title ?? choice.thread.id)}; --new begins another thread`);
  if (has_terminal) note('Write a message and press Enter. /help lists what else you can do.');
  const { thread, turn } = await (has_terminal ? talk : talkByLines)(client, choice, json);
  if (turn !== null) note('The turn in progress continues.');
  if (thread) note(`To continue: perdura chat --thread ${thread.id}`);
}
