import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listUnreached, RULE_NAMES, type RuleName } from '../support/contract/unreached.ts';

const TEST = resolve(import.meta.dirname, '..');
const found = readdirSync(TEST, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => relative(TEST, join(entry.parentPath, entry.name)))
  .filter((file) => !/^mutants\/|^unit\/unreached\.test\.ts$/.test(file))
  .flatMap((file) => listUnreached(file, readFileSync(join(TEST, file), 'utf8')).map((one) => ({ file, ...one })));

interface Judged {
  what: string;
  /** Lines that the rule finds. */
  wrong: string[];
  right: string[];
  /** The beginning of a place in the tests that may do it, with the reason. */
  allowed: Record<string, string>;
}

const RULES: Record<RuleName, Judged> = {
  loop: {
    what: 'expects only of the entries of a list that may be empty: expect the list itself, too',
    wrong: [
      'const rows = await list(); for (const row of rows) expect(row).toBe(1);',
      'for (const row of (await list()).items) { expect(row).toBe(1); }',
      'const { items = [] } = answer(); for (const [at, item] of items.entries()) expect(item).toBe(at);',
    ],
    right: [
      'for (const row of [1, 2]) expect(row).toBe(1);',
      'for (const row of TABLE) expect(row).toBe(1);',
      'const rows = [1].map(String); for (const row of rows) expect(row).toBe(1);',
      'const rows = await list(); expect(rows).toHaveLength(2); for (const row of rows) expect(row).toBe(1);',
      'const rows = await list(); for (const row of rows) use(row); expect(other).toBe(1);',
    ],
    allowed: {
      'api/contract.test.ts: Object.entries(properties)': 'a body of any fields has none; its schema is expected',
      'api/settlement.test.ts: deliveries': 'some ends open none; the tests expect how many there are',
      'long/dashboard-ease.test.ts: times': 'it waits for one',
      'long/dashboard-needs.test.ts: made': 'one of each kind of a table',
      'temporal/fairness.test.ts: few': 'as many as were prompted',
      'temporal/fairness.test.ts: Object.keys(owned)': 'the workflows of the code',
      'temporal/rate-limits.test.ts: tasks': 'the loop before makes three',
      'temporal/slots.test.ts: tasks': 'as many as were prompted',
      'toolrunner/attacks/protocol.test.ts: said': 'an answer for each of the jobs, which are a table',
    },
  },
  branch: {
    what: 'expects only if the code did something: expect that it did',
    wrong: [
      'const answer = await ask(); if (answer.ok) expect(answer.body).toBe(1);',
      'const answer = await ask(); if (answer) { use(answer); expect(answer.body).toBe(1); }',
    ],
    right: [
      "if (kind === 'a') expect(other).toBe(1);",
      'const answer = await ask(); expect(answer.ok).toBe(true); if (answer.ok) expect(answer.body).toBe(1);',
      'const answer = await ask(); if (answer.ok) expect(answer.body).toBe(1); else expect(answer.body).toBe(2);',
    ],
    allowed: {},
  },
  every: {
    what: 'expects something of all entries of a list that may be empty: compare the list',
    wrong: [
      'const rows = await list(); expect(rows.every((row) => row.ok)).toBe(true);',
      'expect((await list()).some((row) => row.failed)).toBe(false);',
    ],
    right: [
      'const rows = await list(); expect(rows).toHaveLength(2); expect(rows.every((row) => row.ok)).toBe(true);',
      'const rows = await list(); expect(rows.some((row) => row.ok)).toBe(true);',
      'expect(["a", "b"].every(isWord)).toBe(true);',
    ],
    allowed: { 'unit/chunks.test.ts: chunks': 'no text has no chunks; the line before expects every word in one' },
  },
  handler: {
    what: 'expects within a handler, which may not run or whose failure nobody sees: collect there and expect after it',
    wrong: [
      "server.on('request', (request) => {\n  expect(request.url).toBe('/');\n});",
      'setTimeout(() => expect(other).toBe(1), 5);',
      'socket.onmessage = ({ data }) => {\n  expect(data).toBe(1);\n};',
    ],
    right: ["server.on('request', (request) => seen.push(request.url)); expect(seen).toEqual(['/']);"],
    allowed: {},
  },
  alternation: {
    what: 'accepts one of several texts: expect the one that this scene leads to',
    wrong: ['expect(text).toMatch(/^(yes|no)$/);', 'await expect(ask()).rejects.toThrow(/refused|reset/);'],
    right: ['expect(text).not.toMatch(/yes|no/);', 'expect(text).toMatch(/a\\|b[|]c/);', 'expect(text).toMatch(/^yes$/);'],
    allowed: {
      'api/compat.test.ts: expect(status)': 'which of the two depends on how soon a worker takes the run',
      'api/dashboards.test.ts: expect(answer, way)': 'some are refused by the parser of requests, others are not found',
      'api/uploads.test.ts: expect': 'of many forms, each with its next step',
      'unit/egress/proxy.test.ts: expect(dialEgress': 'some systems read the name as loopback and some as nothing',
      'toolrunner/attacks/network.test.ts: expect(error)': 'of many attacks, each refused at its own place',
    },
  },
  either: {
    what: 'accepts one of two outcomes: make the scene so that there is one',
    wrong: [
      'expect(text || null).toBeNull();',
      'expect(status).toBeOneOf([200, 201]);',
      'expect(1).toSatisfy((it) => it > 0 || it < 0);',
    ],
    right: ['expect(text ?? null).toBeNull();', 'expect(list.filter((it) => it.a || it.b)).toEqual([]);'],
    allowed: {
      'toolrunner/attacks/protocol.test.ts: bytes.length <= 1': 'of any bytes: no answer, or a whole one',
      'toolrunner/inspection.test.ts: expect(found.valid': 'which of these are valid depends on the version of Python',
    },
  },
};

const foundIn = (body: string, name: RuleName) =>
  listUnreached('x.ts', `const TABLE = [1, 2];\nit('x', async () => {\n${body}\n});`).filter(({ rule }) => rule === name);

describe.each(RULE_NAMES)('the rule %s', (name) => {
  const { what, wrong, right, allowed } = RULES[name];

  it.each(wrong)('finds %j', (body) => {
    expect(foundIn(body, name)).toHaveLength(1);
  });

  it.each(right)('leaves %j alone', (body) => {
    expect(foundIn(body, name)).toEqual([]);
  });

  it(`no test ${what}`, () => {
    const here = found.filter(({ rule }) => rule === name);
    const places = Object.keys(allowed);
    const isAt =
      (place: string) =>
      ({ file, text }: (typeof found)[number]) =>
        `${file}: ${text}`.startsWith(place);
    expect(here.filter((one) => !places.some((place) => isAt(place)(one)))).toEqual([]);
    expect(places.filter((place) => !here.some(isAt(place)))).toEqual([]);
  });
});
