import type { Mutant } from './mutant.ts';

const HERE = 'test/tools/mcp-packages.test.ts';
const ONCE = { file: HERE, name: 'is installed once for all who start it' };
const FAILS = { file: HERE, name: 'fails with a sentence, and keeps nothing' };

export default [
  {
    id: 'mcp-packages/network-kept',
    file: 'src/tools/mcp/stdio-server.ts',
    text: '{ ...confined, ...program, args',
    replacement: '{ ...confined, ...program, network: true, args',
    harm: 'A server that is installed as a package has network access although it may not.',
    tests: [ONCE],
  },
  {
    id: 'mcp-packages/writable',
    file: 'src/tools/mcp/packages/cache.ts',
    text: 'own_paths: [{ path: dir, writable: false }]',
    replacement: 'own_paths: [{ path: dir, writable: true }]',
    harm: 'A server changes the package that others start.',
    tests: [ONCE],
  },
  {
    id: 'mcp-packages/not-locked',
    file: 'src/tools/mcp/packages/cache.ts',
    text: 'const release = await lock(join(folder, `${key}.lock`));',
    replacement: 'const release = async () => {};',
    harm: 'Each process that starts a server at the same time installs its package.',
    tests: [ONCE],
  },
  {
    id: 'mcp-packages/half-kept',
    file: 'src/tools/mcp/packages/cache.ts',
    text: '      await removeFolder(dir);\n      throw error;',
    replacement: '      throw error;',
    harm: 'What a failed installation has written stays on the disk.',
    tests: [FAILS],
  },
  {
    id: 'mcp-packages/size-not-watched',
    file: 'src/tools/mcp/packages/install.ts',
    text: 'watchSize(dir, ports.max_bytes, (reason) => ended.abort(reason))',
    replacement: 'watchSize(dir, Number.POSITIVE_INFINITY, (reason) => ended.abort(reason))',
    harm: 'One package fills the disk.',
    tests: [FAILS],
  },
  {
    id: 'mcp-packages/installed-within-the-time-to-connect',
    file: 'src/tools/mcp/stdio-server.ts',
    text: 'packages.program(launch, env, install_ms)',
    replacement:
      'Promise.race([packages.program(launch, env, install_ms), new Promise<never>((_, late) => setTimeout(() => late(new Error("late")), 50))])',
    harm: 'The first start of a server fails if its package takes longer to install than a server may take to answer.',
    tests: [{ file: 'test/tools/mcp-packages.test.ts', name: 'the time to connect begins when the package is installed' }],
  },
] satisfies Mutant[];
