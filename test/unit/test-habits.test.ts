import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const TEST = resolve(import.meta.dirname, '..');

const sources = readdirSync(TEST, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => relative(TEST, join(entry.parentPath, entry.name)))
  .filter((file) => !/^unit\/(?:test-habits|unreached)\.test\.ts$|^mutants\//.test(file))
  .map((file) => ({ file, lines: readFileSync(join(TEST, file), 'utf8').split('\n') }));

interface Habit {
  /** What is wrong with it, and what to write instead. */
  what: string;
  pattern: RegExp;
  /** Part of a line that does it and may, with the reason. */
  allowed?: Record<string, string>;
}

/** Ways of writing an assertion that passes whatever the code does. */
const HABITS: Habit[] = [
  {
    what: 'accepts one of several outcomes: make the scene so that there is one',
    pattern: /expect\(\[[^\]]*\](?: as const)?\)\.toContain\(|status[^)]*\)\.toBeLessThan\((?:300|400|500)\)|oneOf\(/,
  },
  {
    what: 'accepts any number: a count is never below zero',
    pattern: /(?:length|count|size|Count)\)\.toBeGreaterThanOrEqual\(0\)|toBeGreaterThan\(-1\)/,
    allowed: { 'unit/normalise.test.ts': 'these numbers are a model’s, and may be anything' },
  },
  {
    what: 'expects nothing of a value: add a matcher',
    pattern: /^\s*(?:await )?expect\((?:[^()]|\([^()]*\))*\);?$/,
  },
  {
    what: 'expects only if an answer was as wished: expect that first',
    pattern: /\bif \([^)]*(?:status|error|answer|reply|failed|ok)\b[^)]*\) (?:return )?expect\(/,
    allowed: {
      'if (answer.status === 204)': 'the line before expects the status',
      'if (limit.status === 429)': 'the status is the table’s, not the answer’s',
    },
  },
  {
    what: 'reads the focus once: it moves after the page was drawn, so poll it',
    pattern: /expect\(await \w+\.evaluate\('document\.activeElement/,
  },
  {
    what: 'compares a value with itself',
    pattern: /expect\(([\w.[\]]+)\)\.(?:toBe|toEqual)\(\1\)/,
  },
  {
    what: 'sends a signal to the whole process, and so ends the workers of other tests in it: call the newest listener, or signal a child',
    pattern: /process\.(?:emit\('SIG|kill\(process\.pid, 'SIG(?!KILL))/,
    allowed: { 'unit/log-of-process.test.ts': 'these lines are the script of a child' },
  },
  {
    what: 'is skipped or the only one that runs',
    pattern: /\b(?:it|test|describe)\.(?:(?:only|todo)\(|skip\([^)]*,)/,
  },
];

/** Lists the expectations of a text about the time between two readings of a clock. */
function listElapsed(text: string): string[] {
  const NOW = String.raw`(?:Date|performance)\.now\(\)`;
  const starts = [...text.matchAll(new RegExp(String.raw`(?:const|let) (\w+) = ${NOW};`, 'g'))].map(([, name]) => name);
  if (starts.length === 0) return [];
  const start = `(?:${starts.join('|')})`;
  const elapsed = String.raw`(?:${NOW} - ${start}\b|\b${start} - [a-z]\w*|\b\w+ - ${start}\b)`;
  const names = [...text.matchAll(new RegExp(String.raw`(\w+) = [^\n]*${elapsed}`, 'g'))].map(([, name]) => name);
  const timed = [elapsed, ...names.map((name) => String.raw`\b${name}\b`)].join('|');
  const isTimed = new RegExp(String.raw`\bexpect\(.*(?:${timed})`);
  return text
    .split('\n')
    .filter((line) => isTimed.test(line))
    .map((line) => line.trim());
}

describe('no test', () => {
  it.each(HABITS)('$what', ({ pattern, allowed = {} }) => {
    const found = sources.flatMap(({ file, lines }) =>
      lines.flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
    );
    const exempt = Object.keys(allowed);
    expect(found.filter((line) => !exempt.some((part) => line.includes(part)))).toEqual([]);
    expect(exempt.filter((part) => !found.some((line) => line.includes(part)))).toEqual([]);
  });

  /** Files whose subject is a duration, with the reason why nothing else shows it. A test that sets its clock may count on it. */
  const TIMED: Record<string, string> = {
    'accidents/stalls.test.ts': 'how long a stream stalls is what docs/durability.md promises for this accident',
    'toolrunner/calls-cases.ts':
      'compares `duration_ms` with a longer and a shorter duration that contain each other on any machine',
  };

  it('asserts how long something took: expect the order of events, or set a clock of the test', () => {
    const found = sources
      .filter(({ file, lines }) => !(file in TIMED) && !lines.some((line) => line.includes('vi.useFakeTimers(')))
      .flatMap(({ file, lines }) => {
        const text = lines.join('\n');
        return listElapsed(text).map((line) => `${file}: ${line}`);
      });
    expect(found).toEqual([]);
    const needless = Object.keys(TIMED).filter(
      (file) => !listElapsed(sources.find((source) => source.file === file)?.lines.join('\n') ?? '').length,
    );
    expect(needless).toEqual([]);
  });

  it('waits for an end for less than others do: a wait that is shorter asserts a duration', () => {
    const found = sources.flatMap(({ file, lines }) =>
      lines.flatMap((line, index) => {
        const [, ms = ''] = /\b(?:ended|until)\(.*, (\d[\d_]{3,})\)/.exec(line) ?? [];
        return ms && Number(ms.replaceAll('_', '')) < 20_000 ? [`${file}:${index + 1}: ${line.trim()}`] : [];
      }),
    );
    expect(found).toEqual([]);
  });

  it('expects in a catch without saying how often: a call that does not throw would pass', () => {
    const found = sources.flatMap(({ file, lines }) => {
      const text = lines.join('\n');
      return [...text.matchAll(/^( *)\} catch \(\w+\) \{\n([\s\S]*?)^\1\}/gm)]
        .filter(([, , body = '']) => /\bexpect\(/.test(body) && !/\+= 1/.test(body))
        .filter(
          ({ index }) => !/expect\.(?:assertions|unreachable|hasAssertions)\(/.test(text.slice(Math.max(0, index - 600), index)),
        )
        .map(([, , body = '']) => `${file}: ${body.trim().split('\n')[0]}`);
    });
    expect(found).toEqual([]);
  });
});
