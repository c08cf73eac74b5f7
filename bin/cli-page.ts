// Writes docs/cli.md from the list of commands: `npm run cli-docs`.
import { writeFileSync } from 'node:fs';
import { LOCAL, REMOTE } from '../src/main/command-list.mjs';
import { helpOf } from '../src/main/help.mjs';

const section = (commands: object) =>
  Object.keys(commands)
    .map((name) => `### perdura ${name}\n\n\`\`\`\n${helpOf(name).trimEnd()}\n\`\`\`\n`)
    .join('\n');

/** The page as text. */
export const formatCliPage = () => `# Commands

\`perdura <command> --help\` prints what this page shows. [clients.md](clients.md#from-a-terminal) describes how to sign in and how commands
fit together. This page is written by \`npm run cli-docs\` from \`src/main/command-list.mjs\`, as are help and completions.

- Results go to stdout; notes, warnings and errors to stderr, the error last.
- A mistyped command, verb or option is answered with the nearest one and exit code 2. What the service refuses ends with its sentence and
  exit code 1.
- Times are those of your computer's zone, with the offset from UTC. \`--json\` prints what the API sent, in UTC.

## From anywhere

These are clients of the API.

${section(REMOTE)}
## On the machine of an installation

${section(LOCAL).trimEnd()}
`;

if (import.meta.main) writeFileSync(new URL('../docs/cli.md', import.meta.url), formatCliPage());
