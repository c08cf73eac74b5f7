import type { Config } from '../config.ts';
import { wordsByCommand } from '../help.mjs';
import { COMPLETION_SCRIPTS } from '../remote/completion-scripts.ts';
import { parseOptions, usageError } from '../remote/options.ts';
import { print } from '../terminal.ts';

/** `perdura completions <shell>`: prints a completion script, used as in `source <(perdura completions bash)`. */
export default async function completions(_: Config, args: string[]): Promise<void> {
  const { words } = parseOptions('completions', args, { options: {}, words: ['shell'] });
  const script = COMPLETION_SCRIPTS[words[0] as string];
  if (!script) throw usageError('completions', `There is no script for ${words[0]}`);
  print(script(wordsByCommand()));
}
