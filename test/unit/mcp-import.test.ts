import { expect, it } from 'vitest';
import { listEntryWarnings } from '../../src/api/routes/mcp-import.ts';

/** Files that exist on every machine, and one that does not. */
const [SHELL, NOTHING, CLOSED] = ['/bin/sh', '/no/such/program', '/closed/notes'];
const probe = {
  pathRefusal: async (path: string) => (path === CLOSED ? `${path} is closed` : null),
  starts_stdio: true,
};

it.each<[string, object, [path: string, message: RegExp][]]>([
  ['a program of this machine', { command: 'sh' }, []],
  ['a program of this machine at its place', { command: SHELL }, []],
  ['a program that is missing', { command: 'no-such-program' }, [['command', /^There is no command no-such-program on this/]]],
  ['a place without a program', { command: NOTHING }, [['command', /^There is nothing at \/no\/such\/program on this machine$/]]],
  ['a program that the user fills in', { command: `\${BIN}` }, [['command', /^Its placeholder is not filled in here/]]],
  ['a program that downloads another', { command: 'pipx' }, [['command', /^`pipx` downloads the program that it starts/]]],
  ['a program that starts containers', { command: 'podman' }, [['command', /^`podman` cannot start containers inside/]]],
  ['a file of another machine', { command: 'sh', args: ['~/notes'] }, [['args.0', /^~\/notes is a path of another machine$/]]],
  ['a file that the operator closed', { command: 'sh', args: ['-x', CLOSED] }, [['args.1', /^\/closed\/notes is closed$/]]],
  [
    'a file that it does not see',
    { command: 'sh', args: [SHELL] },
    [['args.0', /^The server sees \/bin\/sh only if its `paths`/]],
  ],
  ['a command and a URL', { command: 'sh', url: 'https://x.example' }, [['url', /which is used; the URL is ignored$/]]],
  [
    'another transport',
    { type: 'ws', url: 'https://x.example' },
    [['type', /^`ws` is not a transport here; .* imported as http$/]],
  ],
  ['a transport by another name', { type: 'streamableHttp', url: 'https://x.example' }, []],
])('an imported server with %s has the warnings that follow from it', async (_, entry, expected) => {
  const warnings = await listEntryWarnings('x', entry, probe);
  // Whether this machine has it is not its point.
  const others = warnings.filter(({ message }) => !/^There is no command (pipx|podman) /.test(message));
  expect(others).toEqual(
    expected.map(([path, message]) => ({ path: `mcpServers.x.${path}`, message: expect.stringMatching(message) })),
  );
});
