import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

const SRC = resolve(import.meta.dirname, '../../src');

/** The rooms of src from the lowest to the highest: a file imports from its own room and from lower ones, types included. */
const ROOMS = [
  'domain',
  'contracts',
  'vendor',
  'folders',
  'parsers',
  'egress',
  'events',
  'toolrunner',
  'store',
  'identity',
  'guardrails',
  'tools',
  'runtimes',
  'knowledge',
  'temporal',
  'observe',
  'chat',
  'replay',
  'api',
  'client',
  'dashboard',
  'embedded',
  'main',
];

/** From which rooms a room may import values. `npm:` names packages, `node:` Node. */
const MAY: Record<string, string[]> = {
  contracts: [
    'contracts',
    'domain/access',
    'domain/call-settings',
    'domain/fallback-reasons',
    'domain/statuses',
    'domain/questions',
    'npm:zod',
  ],
  // A library that only calculates.
  domain: ['domain', 'npm:croner'],
  // The published client: it runs in browsers, too.
  client: ['client', 'domain/statuses', 'npm:eventsource-parser/stream'],
  identity: ['identity', 'domain', 'node:', 'npm:'],
  egress: ['egress', 'domain', 'node:', 'npm:'],
  vendor: ['vendor', 'node:', 'npm:'],
  folders: ['folders', 'node:'],
  toolrunner: ['toolrunner', 'folders', 'egress', 'domain', 'node:', 'npm:'],
  parsers: ['parsers', 'node:', 'npm:'],
  guardrails: ['guardrails', 'domain', 'parsers/failure'],
  knowledge: ['knowledge', 'egress/dial', 'runtimes/embeddings', 'domain', 'parsers/failure', 'node:', 'npm:'],
  store: ['store', 'vendor', 'contracts', 'events/task-events', 'domain', 'generated', 'node:', 'npm:'],
  events: ['events', 'vendor', 'contracts', 'domain', 'node:', 'npm:'],
  // Which built-in tools a vendor has is declared with each tool.
  runtimes: ['runtimes', 'tools/builtin', 'domain', 'node:', 'npm:'],
  tools: ['tools', 'toolrunner', 'folders', 'egress', 'domain', 'parsers/failure', 'node:', 'npm:'],
  chat: ['chat', 'observe', 'runtimes', 'guardrails', 'domain', 'node:', 'npm:'],
  'temporal/workflows': ['temporal/workflows', 'temporal/names', 'domain', 'npm:@temporalio/workflow', 'npm:@temporalio/common'],
  observe: ['observe', 'domain', 'node:', 'npm:'],
  temporal: ['temporal', 'vendor', 'folders', 'events/task-events', 'domain', 'node:', 'npm:'],
  replay: ['replay', 'temporal', 'runtimes', 'tools', 'guardrails', 'contracts', 'domain', 'node:', 'npm:'],
  api: ['api', 'contracts', 'domain', 'events', 'guardrails', 'tools', 'node:', 'npm:'],
  'dashboard-legacy': ['dashboard-legacy'],
  dashboard: [
    'dashboard',
    'contracts',
    'domain/statuses',
    'domain/questions',
    'domain/access',
    'domain/provider-presets',
    'domain/commented-json',
    'domain/exact-json',
    'domain/unseen',
    'domain/sizes',
    'npm:',
  ],
};

interface Import {
  from: string;
  to: string;
  /** Only types are imported: they vanish when the code runs. */
  types: boolean;
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'generated' ? [] : filesIn(path);
    return /\.(tsx?|js)$/.test(entry.name) ? [path] : [];
  });

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const statements = text.matchAll(/^(?:import|export)\s+(type\s)?([^;'"]*?from\s+)?['"]([^'"]+)['"]/gm);
  return [...statements].map(([, type, names, to]) => ({
    from: relative(SRC, file),
    to: to!.startsWith('.') ? relative(SRC, resolve(dirname(file), to!)) : named(to!),
    types: type !== undefined || (names !== undefined && onlyTypes(names)),
  }));
}

const valuesIn = (file: string): Import[] => importsOf(file).filter(({ types }) => !types);

const onlyTypes = (names: string) => {
  const inner = /\{([^}]*)\}/.exec(names)?.[1];
  const outside = names
    .replace(/\{[^}]*\}/, '')
    .replace(/from\s*$/, '')
    .replace(/[,\s]/g, '');
  return (
    inner !== undefined &&
    outside === '' &&
    inner.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type '))
  );
};

const named = (specifier: string) => (specifier.startsWith('node:') ? specifier : `npm:${specifier}`);

const allowedFor = (file: string) => {
  const folder = Object.keys(MAY).find((name) => file.startsWith(`${name}/`));
  return folder ? MAY[folder] : null;
};

it('imports from no higher room, types included', () => {
  const room = (path: string) => path.split('/')[0] as string;
  const here = filesIn(SRC).flatMap(importsOf);
  const known = here.filter(({ from, to }) => room(from) !== 'dashboard-legacy' && !/^(npm:|node:|generated|\.\.)/.test(to));
  expect([...new Set(known.flatMap(({ from, to }) => [room(from), room(to)]))].filter((name) => !ROOMS.includes(name))).toEqual(
    [],
  );
  const up = known.filter(({ from, to }) => ROOMS.indexOf(room(to)) > ROOMS.indexOf(room(from)));
  expect(up.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

it('lets no folder import what it may not', () => {
  const wrong = filesIn(SRC)
    .flatMap(valuesIn)
    .filter(({ from, to }) => {
      const allowed = allowedFor(from);
      return (
        allowed &&
        !allowed.some(
          (prefix) => to === prefix || to.startsWith(prefix.endsWith(':') ? prefix : `${prefix}/`) || to.startsWith(`${prefix}.`),
        )
      );
    });
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

it('has no files that import each other in a circle, types included', () => {
  const imports = Map.groupBy(filesIn(SRC).flatMap(importsOf), ({ from }) => from);
  const settled = new Set<string>();
  const circles: string[] = [];
  const follow = (file: string, path: string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
    if (settled.has(file) || path.includes(file)) return;
    for (const { to } of imports.get(file) ?? []) follow(to, [...path, file]);
    settled.add(file);
  };
  for (const file of imports.keys()) follow(file, []);
  expect(circles).toEqual([]);
});

it('loads OpenTelemetry only where traces are turned on', () => {
  const imports = filesIn(SRC).flatMap(valuesIn);
  const users = new Set(imports.filter(({ to }) => /opentelemetry|@fastify\/otel/.test(to)).map(({ from }) => from));
  expect([...users].sort()).toEqual(['observe/traced.ts', 'observe/tracing.ts']);
  // Nothing loads them with itself: src/main/wiring/traces.ts does when the settings ask for it.
  const loaders = imports.filter(({ from, to }) => users.has(to) && from !== 'observe/tracing.ts');
  expect(loaders).toEqual([]);
});

it('the image gets every file of the dashboard before it builds it', () => {
  const [before = ''] = readFileSync(join(SRC, '../Dockerfile'), 'utf8').split(/^RUN .*vite build/m);
  const copied = [...before.matchAll(/^COPY src\/(\S+) /gm)].map(([, folder]) => `${folder}/`);
  const imports = Map.groupBy(filesIn(SRC).flatMap(valuesIn), ({ from }) => from);
  const needed = new Set(filesIn(join(SRC, 'dashboard')).map((file) => relative(SRC, file)));
  for (const file of needed) for (const { to } of imports.get(file) ?? []) if (!/^(npm|node):/.test(to)) needed.add(to);
  expect(copied).toContain('dashboard/');
  expect([...needed].filter((file) => !copied.some((folder) => file.startsWith(folder)))).toEqual([]);
});

// The configuration of a build is code of no process.
it('reads the environment in one file', () => {
  const readers = filesIn(SRC).filter(
    (file) => /process\.env\b/.test(readFileSync(file, 'utf8')) && !/(main\/config|vite\.config)\.ts$/.test(file),
  );
  expect(readers.map((file) => relative(SRC, file))).toEqual([]);
});

it('has no file that nobody reads to its end', () => {
  const long = filesIn(SRC).filter((file) => readFileSync(file, 'utf8').split('\n').length > 400);
  expect(long.map((file) => relative(SRC, file))).toEqual([]);
});
