import type { Config } from '../config.ts';
import { removeLogin } from '../remote/login.ts';
import { JSON_OPTION, parseOptions } from '../remote/options.ts';
import { say, sayJson } from '../terminal.ts';

export default async function logout(config: Config, args: string[]): Promise<void> {
  const { values } = parseOptions('logout', args, { options: JSON_OPTION });
  const removed = await removeLogin(config);
  if (values.json) sayJson({ removed });
  else say(removed ? 'Signed out' : 'Nobody was signed in');
}
