import type { Endpoint } from '../../contracts/endpoint.ts';
import { EXAMPLE_ID } from './examples.ts';

interface Sample {
  lang: string;
  label: string;
  source: string;
}

/**
 * Returns how Perdura's clients call an operation. Streams, files, the interfaces of others and bodies that are too large for an
 * example have none: there the reference shows only curl, which it writes itself.
 */
export function codeSamples(endpoint: Endpoint, body: object | undefined): Sample[] {
  const { path, kind, upload } = endpoint;
  if (endpoint.body && !endpoint.body.safeParse(body ?? {}).success) return [];
  if (!path.startsWith('/api/') || upload || kind === 'events' || kind === 'file') return [];
  return [
    { lang: 'typescript', label: 'TypeScript', source: typescript(endpoint, body) },
    { lang: 'python', label: 'Python', source: python(endpoint, body) },
  ];
}

function typescript({ method, path, kind }: Endpoint, body: object | undefined): string {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const given = {
    ...(names.length > 0 ? { path: Object.fromEntries(names.map((name) => [name, EXAMPLE_ID])) } : {}),
    ...(body ? { body } : {}),
  };
  const args = [`'${method} ${path}'`, ...(Object.keys(given).length > 0 ? [JSON.stringify(given, null, 2)] : [])].join(', ');
  const call =
    kind === 'page'
      ? `for await (const item of perdura.items(${args})) console.log(item);`
      : kind === 'none'
        ? `await perdura.request(${args});`
        : `const reply = await perdura.request(${args});`;
  return `import { env } from 'node:process';
import { createClient } from '@perdura/client';

const url = env.PERDURA_API_URL!;
const token = env.PERDURA_API_TOKEN!;
const perdura = createClient({ url, token });
${call}
`;
}

function python({ method, path, kind }: Endpoint, body: object | undefined): string {
  const address = JSON.stringify(path.replaceAll(/\{\w+\}/g, EXAMPLE_ID));
  const json = body ? `, json=${pythonLiteral(body, '    ')}` : '';
  const call =
    kind === 'page'
      ? `for item in client.items(${address}):\n        print(item)`
      : `${kind === 'none' ? '' : 'reply = '}client.request("${method}", ${address}${json})`;
  return `import os
from perdura import Client

with Client(os.environ["PERDURA_API_URL"], os.environ["PERDURA_API_TOKEN"]) as client:
    ${call}
`;
}

function pythonLiteral(value: unknown, indent: string): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}    `;
  const parts = Array.isArray(value)
    ? value.map((one) => pythonLiteral(one, inner))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonLiteral(one, inner)}`);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return parts.length === 0
    ? `${open}${close}`
    : `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`;
}
