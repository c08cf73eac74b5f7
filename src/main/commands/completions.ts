import type { Config } from '../config.ts';
import { wordsByCommand } from '../help.mjs';
import { COMPLETION_SCRIPTS } from '../remote/completion-scripts.ts';
import { parseCommand, suggest, usageError } from '../remote/options.ts';
import { print } from '../terminal.ts';

/** `perdura completions <shell>`: prints a completion script, used as in `source <(perdura completions bash)`. */
export default async function completions(_: Config, args: string[]): Promise<void> {
  const { words } = parseCommand('completions', args);
  const shell = words[0]!;
  const script = Object.hasOwn(COMPLETION_SCRIPTS, shell) ? COMPLETION_SCRIPTS[shell] : undefined;
  if (!script)
    throw usageError('completions', `There is no script for ${shell}${suggest(shell, Object.keys(COMPLETION_SCRIPTS))}`);
  print(script(wordsByCommand()));
}
