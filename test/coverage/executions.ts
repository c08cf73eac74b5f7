import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Which prepared statements each test file executes, as the last `npm run coverage` saw it. Git ignores the folder. */
const FILE = 'node_modules/.cache/perdura-mutants/statements.json';

interface Execution {
  test: string;
  seconds: number;
  statements: string[];
}

export function writeExecutions(root: string, folder: string, seconds: ReadonlyMap<string, number>): void {
  const executions = readdirSync(join(folder, 'tests')).map((entry): Execution => {
    const { test, statements } = JSON.parse(readFileSync(join(folder, 'tests', entry), 'utf8')) as Execution;
    const file = relative(root, test);
    return { test: file, seconds: seconds.get(file) ?? 0, statements };
  });
  mkdirSync(dirname(join(root, FILE)), { recursive: true });
  writeFileSync(join(root, FILE), JSON.stringify(executions));
}

/** Throws if coverage was never measured here. */
export function readExecutions(root: string) {
  const executions = readAll(root)
    .filter(({ test }) => existsSync(join(root, test)))
    .sort((a, b) => a.seconds - b.seconds);
  const texts = new Map(executions.map(({ test }) => [test, readFileSync(join(root, test), 'utf8')]));
  const hasWord = (test: string, word: string) => texts.get(test)!.includes(word);
  return {
    /**
     * The test files that execute one of the statements, of so many seconds together; at least one. First come those that have the
     * word, then the quickest.
     */
    listTests(names: readonly string[], most_seconds: number, word: string): string[] {
      const those = executions
        .filter(({ statements }) => statements.some((name) => names.includes(name)))
        .sort((a, b) => Number(hasWord(b.test, word)) - Number(hasWord(a.test, word)));
      let sum = 0;
      const beyond = those.findIndex(({ seconds }) => {
        sum += seconds;
        return sum > most_seconds;
      });
      return those.slice(0, beyond < 0 ? undefined : Math.max(beyond, 1)).map(({ test }) => test);
    },
  };
}

function readAll(root: string): Execution[] {
  try {
    return JSON.parse(readFileSync(join(root, FILE), 'utf8'));
  } catch {
    throw new Error('It is not known which tests execute which statement. Run `npm run coverage` first.');
  }
}
