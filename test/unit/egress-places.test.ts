import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

const SRC = resolve(import.meta.dirname, '../../src');

/** Who is given which rules, and `limits` alone. `configuration` and `providers` may reach loopback in `npm start`, `tools` may never. */
const PLACES = {
  // The default runtime is the operator's, at `installation`.
  'main/wiring/runtime-options.ts': ['installation', 'providers'],
  'main/wiring/model-lists.ts': ['installation', 'providers'],
  'main/wiring/mcp-probe.ts': ['configuration', 'limits'],
  'main/wiring/mcp-sign-ins.ts': ['configuration'],
  'main/wiring/runs/tools.ts': ['configuration', 'limits'],
  // Repositories; the operator's object store.
  'main/wiring/runs/workspaces.ts': ['configuration', 'objects'],
  // What models choose (web_fetch); the search endpoint.
  'main/wiring/runs/index.ts': ['installation', 'tools'],
  // Webhooks, and messages to chats.
  'main/wiring/message-sender.ts': ['configuration'],
  // Knowledge sources; the sandbox's proxy: custom tools, bash, stdio MCP servers; embeddings.
  'main/wiring/index.ts': ['configuration', 'installation', 'own_ports', 'tools_allow'],
  // Files of the catalogue of models; the receiver of the audit; the API's own port.
  'main/wiring/api.ts': ['configuration', 'installation', 'own_ports'],
  // Readiness asks the operator's object store.
  'main/wiring/checks.ts': ['objects'],
  // The ports of a worker and of its SDK.
  'main/worker-port.ts': ['own_ports'],
};

/** Where rules are made: nowhere but in one place for the service and one for the sandbox. */
const MADE = {
  createGuardedFetch: ['egress/guarded-fetch.ts', 'main/wiring/egress.ts'],
  egressRules: ['egress/guarded-fetch.ts', 'egress/rules.ts', 'toolrunner/confinement.ts'],
  startEgressProxy: ['egress/proxy.ts', 'toolrunner/confinement.ts'],
  resolveAllowedAddresses: ['egress/dial.ts', 'tools/checkout.ts'],
  dialEgress: ['egress/dial.ts', 'egress/guarded-fetch.ts', 'egress/proxy.ts'],
  findAnsweringAddress: ['egress/dial.ts', 'main/wiring/knowledge.ts'],
};

/** Every file that imports what dials, or calls the global fetch: why that is not a way past the rules. */
const DIALS: Record<string, string> = {
  'client/transport.ts': 'the API, for commands and programs of a user',
  'egress/counted-fetch.ts': 'counts what the fetch it is given brings',
  'main/wiring/egress.ts': "the operator's default runtime, embeddings, search endpoint, identity provider and object store",
  'egress/guarded-fetch.ts': 'dials by dialEgress',
  'egress/mailer.ts': "the operator's mail server",
  'egress/redirects.ts': 'follows by the fetch it is given',
  'egress/request-fetch.ts': 'asks by the dispatcher it is given',
  'embedded/backup.ts': "the installation's own Postgres",
  'embedded/cluster-copy.ts': "the installation's own Postgres",
  'embedded/postgres-access.ts': "the installation's own Postgres",
  'embedded/temporal-guard.ts': "the installation's own Temporal UI",
  'embedded/temporal-obtain.ts': "the releases of Temporal's own site",
  'events/postgres-bus.ts': "the operator's Postgres",
  'events/redis-bus.ts': "the operator's Redis",
  'knowledge/remote.ts': 'the address that resolveAddress judged',
  'main/api-client.ts': 'the API, for commands of a user',
  'main/commands/demo.ts': "the installation's own API",
  'main/worker-port.ts': "the metrics of this process's own SDK",
  'runtimes/bounded.ts': 'is given a fetch',
  'runtimes/chat-completions.ts': 'is given a client',
  'runtimes/clients.ts': 'is given a fetch',
  'runtimes/embeddings.ts': 'is given a fetch',
  'runtimes/listed-models.ts': 'is given a client',
  'runtimes/model-lists.ts': 'is given a client',
  'runtimes/provider-check.ts': 'is given clients',
  'runtimes/reusing-fetch.ts': 'is given a fetch',
  'runtimes/vendor-errors.ts': 'is given a fetch',
  'store/database/reachable.ts': "the operator's Postgres",
  'store/database/silent-connections.ts': "the operator's Postgres",
  'temporal/client/engine-relay.ts': "the operator's Temporal",
  'egress/dial.ts': 'the one that judges and dials',
  'egress/proxy.ts': 'asks over a socket that dialEgress made',
  'toolrunner/zygote.ts': "the sandbox's own socket file",
  'tools/mcp/connection.ts': 'is given a fetch',
  'tools/mcp/open-client.ts': 'is given a fetch',
};
/** Modules whose values open connections, and those values. Temporal's own clients know the operator's address alone. */
const DIALLING =
  /^(node:(net|tls|http|https|http2|dgram)|undici|nodemailer|pg|ioredis|openai|@anthropic-ai\/sdk|@modelcontextprotocol\/.*)$/;
const DIALLER =
  /\b(connect|createConnection|request|get|fetch|Agent|Socket|pg|Redis|OpenAI|AzureOpenAI|Anthropic|Client|\w+ClientTransport|createTransport|net|https?|tls)\b/;
/** A fetch that was handed in goes by the same name. */
const OWN_FETCH = /[{,]\s*fetch\b\s*[,}?:]/;

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !/^(dashboard|dashboard-legacy|generated)\//.test(name))
  .map((name) => ({
    name: relative(SRC, join(SRC, name)),
    text: readFileSync(join(SRC, name), 'utf8').replaceAll(/^\s*(\/\/|\/?\*).*$/gm, ''),
  }));

const namesIn = (pattern: RegExp) => files.filter(({ text }) => pattern.test(text)).map(({ name }) => name);

it('gives every place in the wiring the rules of who asks there', () => {
  const found = files.flatMap(({ name, text }) => {
    if (name === 'main/wiring/egress.ts' || name === 'main/wiring/knowledge.ts') return [];
    const sets = [...text.matchAll(/(?<![\w/'-])egress\.(\w+)/g)].map(([, set]) => set as string);
    return sets.length > 0 ? [[name, [...new Set(sets)].sort()] as const] : [];
  });
  expect(Object.fromEntries(found)).toEqual(PLACES);
});

it('makes rules, and dials by them, in the places that are known', () => {
  const found = Object.keys(MADE).map((name) => [name, namesIn(new RegExp(`\\b${name}\\(`)).sort()]);
  expect(Object.fromEntries(found)).toEqual(MADE);
});

it('dials past the rules only where the operator chose the address', () => {
  const found = files.filter(({ text }) => {
    const imported = [...text.matchAll(/^import (?!type )([^;]*?) from '([^']+)'/gm)].map(([, names = '', from = '']) => {
      const values = names.replaceAll(/\btype \w+/g, '');
      return DIALLING.test(from) && DIALLER.test(values);
    });
    const global = /(?<!typeof )globalThis\.fetch/.test(text) || (/(?<![.\w])fetch\(/.test(text) && !OWN_FETCH.test(text));
    return global || imported.includes(true);
  });
  expect(found.map(({ name }) => name).sort()).toEqual(Object.keys(DIALS).sort());
});

it('never adds loopback to what tools may reach', () => {
  const { text } = files.find(({ name }) => name === 'main/wiring/egress.ts')!;
  expect(text).toMatch(/tools: open\(\.\.\.egress_allow\)/);
  expect(text).toMatch(/tools_allow: egress_allow,/);
  for (const file of ['main/dev.ts', 'main/setting.ts'])
    expect(files.find(({ name }) => name === file)!.text).toMatch(/\begress_allow: config\.EGRESS_ALLOW,/);
});
