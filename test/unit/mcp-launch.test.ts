import { describe, expect, it } from 'vitest';
import { npmName, parsePackageLaunch } from '../../src/tools/mcp/packages/launch.ts';

const launched = (line: string) => {
  const [command = '', ...args] = line.split(' ');
  return parsePackageLaunch(command, args);
};

describe('the package that a launcher names', () => {
  it.each([
    ['npx -y files@1.2.3 /data', 'npm', ['files@1.2.3'], null, 2],
    ['npx @org/files', 'npm', ['@org/files'], null, 1],
    ['/usr/bin/npx --yes @org/files@^2.0 -y', 'npm', ['@org/files@^2.0'], null, 2],
    ['npx -y -- files', 'npm', ['files'], null, 3],
    ['npx -y -p files@1 --package=more serve --port 1', 'npm', ['more', 'files@1'], 'serve', 5],
    ['uvx mcp-server-time --local-timezone=UTC', 'pypi', ['mcp-server-time'], 'mcp-server-time', 1],
    ['uvx files@1.2', 'pypi', ['files==1.2'], 'files', 1],
    ['uvx files@latest', 'pypi', ['files'], 'files', 1],
    ['uvx files[all]==1.2', 'pypi', ['files[all]==1.2'], 'files', 1],
    ['uvx --from files>=2 --with extra serve', 'pypi', ['files>=2', 'extra'], 'serve', 5],
    ['uvx --with extra files', 'pypi', ['files', 'extra'], 'files', 3],
  ])('%s', (line, registry, specs, program, used) => {
    expect(launched(line)).toEqual({ registry, specs, program, used });
  });

  it.each([
    'node server.js',
    './npx files',
    'npx',
    'npx -y',
    'npx -p',
    'npx -p files',
    'npx -c serve',
    'npx --registry=http://127.0.0.1 files',
    'npx github:org/files',
    'npx org/files',
    'npx ./files',
    'npx /tmp/files',
    'npx https://example.com/files.tgz',
    'npx file:files',
    'npx files@npm:other',
    'npx files@{{token:VERSION}}',
    'npx -p files ../serve',
    'npx -p files --version',
    'uvx --python 3.12 files',
    'uvx files@git+https://example.com/files',
    'uvx --from ./files serve',
    'uvx --index-url=http://127.0.0.1 files',
  ])('none in: %s', (line) => {
    expect(launched(line)).toBeNull();
  });

  it.each([
    ['files', 'files'],
    ['files@1', 'files'],
    ['@org/files', '@org/files'],
    ['@org/files@1.2', '@org/files'],
  ])('the name in %s is %s', (spec, name) => {
    expect(npmName(spec)).toBe(name);
  });
});
