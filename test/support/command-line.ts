import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { baseEnv } from './machine/processes.ts';

const CLI = resolve(import.meta.dirname, '../../src/main/cli.ts');
export const COMMAND = [process.execPath, '--disable-warning=ExperimentalWarning', CLI];
const BELL = '\u0007';
const ESCAPE = '\u001b';
const TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';

/** A text that appears on the screen, and what the person types then. */
export type Step = [appears: string, types: string | (() => Promise<string>)];

/** Runs commands of `perdura` as their users do, in a folder, with a separate login. */
export function commandLine(folder: string) {
  const env = { ...baseEnv(), TZ: 'UTC', XDG_CONFIG_HOME: join(folder, 'config'), PERDURA_HOME: join(folder, 'home') };
  const start = ([program = '', ...args]: string[], more: Record<string, string> = {}) =>
    spawn(program, args, { env: { ...env, ...more }, cwd: folder, stdio: 'pipe' });

  async function outcome(child: ReturnType<typeof start>) {
    const ended = new Promise<number | null>((done) => child.once('close', done));
    const [out, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    return { code, out, errors };
  }
  return {
    start,
    outcome,
    /** Runs a command as a user does in a terminal that is none. */
    perdura(args: string[], input = '', more: Record<string, string> = {}) {
      const child = start([...COMMAND, ...args], more);
      child.stdin.end(input);
      return outcome(child);
    },
    /** Runs a command in a terminal, and answers what it asks. */
    terminal(args: string[], question: string, answer: string, more: Record<string, string> = {}) {
      const child = start(['python3', '-c', TERMINAL, ...COMMAND, ...args], more);
      child.stdout.on('data', (chunk: Buffer) => {
        if (chunk.includes(question)) child.stdin.write(`${answer}\n`);
      });
      return outcome(child);
    },
    /** Runs a command in a terminal, types step by step, and returns what its screen shows at the end. */
    async typeInto(args: string[], steps: Step[], more: Record<string, string> = {}) {
      const child = start(['python3', '-c', TERMINAL, ...COMMAND, ...args], more);
      let output = '';
      const more_output = () => once(child.stdout, 'data');
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk;
      });
      const ended = new Promise<number | null>((done) => child.once('close', done));
      let seen = 0;
      const type = async () => {
        for (const [appears, types] of steps) {
          while (!output.includes(appears, seen)) await more_output();
          seen = output.indexOf(appears, seen) + appears.length;
          child.stdin.write(typeof types === 'string' ? types : await types());
        }
      };
      // A step whose text does not appear is seen in the screen.
      await Promise.race([type(), ended]);
      return { code: await ended, screen: toScreen(output) };
    },
  };
}

const CONTROLS = new RegExp(`${ESCAPE}\\[(\\d*)([A-Za-z])|[^]`, 'gu');

/** Returns the lines that a terminal shows after this output, without those that are empty at the end. */
export function toScreen(output: string): string[] {
  const lines: string[][] = [[]];
  let [row, column] = [0, 0];
  for (const [piece, digits = '', command] of output.matchAll(CONTROLS)) {
    const count = Number(digits || 1);
    if (piece === '\r') column = 0;
    else if (piece === '\n') {
      row += 1;
      lines[row] ??= [];
    } else if (piece === '\b') column = Math.max(0, column - 1);
    else if (command === 'G') column = count - 1;
    else if (command === 'A') row = Math.max(0, row - count);
    else if (command === 'C') column += count;
    else if (command === 'D') column = Math.max(0, column - count);
    else if (command === 'K') lines[row]!.splice(column);
    else if (command === 'J') {
      lines[row]!.splice(column);
      lines.splice(row + 1);
    } else if (command === undefined && piece !== BELL) {
      lines[row]![column] = piece;
      column += 1;
    }
  }
  return lines
    .map((line) =>
      Array.from(line, (character) => character ?? ' ')
        .join('')
        .trimEnd(),
    )
    .join('\n')
    .trimEnd()
    .split('\n');
}
