import type { Config } from '../config.ts';
import { removeLogin } from '../remote/login.ts';
import { parseCommand } from '../remote/options.ts';
import { say, sayJson } from '../terminal.ts';

export default async function logout(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('logout', args);
  const removed = await removeLogin(config);
  if (given.has('json')) sayJson({ removed });
  else say(removed ? 'Signed out' : 'Nobody was signed in');
}
