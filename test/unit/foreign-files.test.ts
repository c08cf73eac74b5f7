import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { EXPORTED } from '../../src/contracts/transfer.ts';
import { fileReader } from '../../src/knowledge/extract.ts';
import { parseGraders } from '../../src/main/commands/eval.ts';
import { parseBundle } from '../../src/main/commands/import.ts';
import { readDeclared } from '../../src/main/declared/read.ts';
import { readDocument } from '../../src/parsers/child/documents.ts';
import { ParserFailure } from '../../src/parsers/failure.ts';
import { changedAt, codeIn, ODD_VALUES, placesIn } from '../support/contract/odd-values.ts';

// Files that people name: what is said of an odd one names the file, and holds no JavaScript.

const ODD_TEXTS = [
  '',
  '<html>',
  '{',
  '[',
  'null',
  '5',
  '"odd"',
  '{}',
  '[null]',
  '[1]',
  '[[]]',
  'a: b: c',
  '*a',
  '%',
  '\u0000',
  '- &a [*a]',
];

const refusalOf = async (read: () => unknown): Promise<string | null> => {
  try {
    await read();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};

/** Why these refusals are not for people. */
const faultsIn = (refusals: (string | null)[], file: string): string[] =>
  refusals.filter((said): said is string => said !== null && (codeIn(said) !== null || !said.includes(file)));

describe('a document that is uploaded', () => {
  const inThisProcess = {
    run: (async (_: unknown, order: Parameters<typeof readDocument>[0]) =>
      readDocument(order).catch((error: Error) => Promise.reject(new ParserFailure('refused', error.message)))) as never,
  };
  const read = fileReader(inThisProcess, { deadline_ms: 1, patience_ms: 1 });
  const ODD_CONTENTS = [...ODD_TEXTS, '%PDF-1.7\n1 0 obj <<', 'PK\u0003\u0004', '\uFEFF{"a": ', 'x'.repeat(5_000)];

  it.each(['json', 'pdf', 'docx', 'html', 'csv'])('as .%s and cannot be read is refused by name', async (kind) => {
    const contents = [...ODD_CONTENTS.map((text) => Buffer.from(text)), Buffer.from([0xff, 0xfe, 0x00])];
    const refusals = await Promise.all(
      contents.map((content) => refusalOf(() => read({ filename: `odd.${kind}`, content, owner: 'local:me' }))),
    );
    expect(faultsIn(refusals, `odd.${kind}`)).toEqual([]);
  });

  it('as .json is refused with what to do', async () => {
    const said = await refusalOf(() => read({ filename: 'odd.json', content: Buffer.from('{"a": '), owner: 'local:me' }));
    expect(said).toBe('The file odd.json cannot be read: it is not valid JSON; correct it, or upload it as .txt');
  });
});

describe('a file of graders', () => {
  it.each(ODD_TEXTS)('that is %j is refused by name', async (text) => {
    const said = await refusalOf(() => parseGraders(text, 'graders.json'));
    expect(said).toContain('graders.json');
    expect(codeIn(said ?? '')).toBeNull();
  });

  it('that is not JSON is refused with an example', async () => {
    expect(await refusalOf(() => parseGraders('{', 'graders.json'))).toBe(
      'graders.json is not valid JSON; write a list of graders, such as [{"type": "exact"}]',
    );
  });

  const GRADERS = [
    { type: 'regex', pattern: 'a' },
    { type: 'json_schema', json_schema: { type: 'object' } },
    { type: 'model', rubric: 'Is it right?', pass_at: 0.5 },
  ];

  it.each(placesIn(GRADERS).map((path) => [path.join('.'), path] as const))(
    'speaks to people, whatever is at %s',
    async (_, path) => {
      const refusals = await Promise.all(
        ODD_VALUES.map(([, value]) =>
          refusalOf(() => parseGraders(JSON.stringify(changedAt(GRADERS, path, value)), 'graders.json')),
        ),
      );
      expect(faultsIn(refusals, 'graders.json')).toEqual([]);
    },
  );
});

describe('an import bundle', () => {
  it.each(ODD_TEXTS)('that is %j is refused by name, or sent', async (text) => {
    expect(faultsIn([await refusalOf(() => parseBundle(text, 'bundle.yaml'))], 'bundle.yaml')).toEqual([]);
  });

  it.each(Object.keys(EXPORTED))('of the kind %s is sent as that part of an import', (resource_type) => {
    const items = [{ name: 'one' }];
    const sent = parseBundle(JSON.stringify({ version: '1.0', resource_type, items }), 'bundle.json');
    expect(sent).toEqual({ version: '1.0', [`${resource_type}s`]: items });
  });
});

describe('a file of perdura apply', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'odd-files-'));
  afterAll(() => rm(folder, { recursive: true }));
  const applied = async (text: string) => {
    const file = join(folder, 'odd.yaml');
    await writeFile(file, text);
    return refusalOf(() => readDeclared([file]));
  };
  const DECLARED = [
    { kind: 'agent', name: 'a', model: 'm', builtin_tools: ['bash'], provider: 'p' },
    { kind: 'guardrail', name: 'g', guardrail_type: 'prompt', config: { forbidden_patterns: ['x'] } },
    {
      kind: 'knowledge_source',
      name: 's',
      source_type: 'vector_db',
      connection_config: { url: 'https://q.test', collection: 'c' },
    },
  ];
  const EXPORT = {
    version: '1.0',
    resource_type: 'bundle',
    exported_at: '2026-01-01T00:00:00Z',
    skills: [{ name: 's', instructions: 'x' }],
  };

  it.each(ODD_TEXTS)('that is %j is refused by name', async (text) => {
    expect(faultsIn([await applied(text)], 'odd.yaml')).toEqual([]);
  });

  it.each([DECLARED, EXPORT].flatMap((whole) => placesIn(whole).map((path) => [path.join('.'), path, whole] as const)))(
    'speaks to people, whatever is at %s',
    async (_, path, whole) => {
      const refusals: (string | null)[] = [];
      for (const [, value] of ODD_VALUES) refusals.push(await applied(JSON.stringify(changedAt(whole, path, value))));
      expect(faultsIn(refusals, 'odd.yaml')).toEqual([]);
    },
  );
});
