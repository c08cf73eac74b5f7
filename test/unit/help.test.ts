import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { COMMANDS } from '../../src/main/command-list.mjs';
import { answerTo, formsOf, helpOf, listOfCommands } from '../../src/main/help.mjs';
import { parseCommand } from '../../src/main/remote/options.ts';
import { splitLine } from '../support/split-line.ts';

const COMMANDS_WITH_FILES = readdirSync(new URL('../../src/main/commands/', import.meta.url)).map((file) =>
  file.replace('.ts', ''),
);

it.each(COMMANDS_WITH_FILES)('%s describes itself without being run', (command) => {
  expect(listOfCommands()).toMatch(new RegExp(`^  ${command} `, 'm'));
  for (const flag of ['--help', '-h']) expect(answerTo([command, 'anything', flag], '1.2.3')).toMatch(`perdura ${command}`);
  expect(answerTo([command, 'anything'], '1.2.3')).toBeNull();
});

const FORMS = Object.keys(COMMANDS).flatMap((name) => formsOf(name).map((it) => ({ name, ...it })));

it('every command is declared and has a file', () => {
  expect(Object.keys(COMMANDS).sort()).toEqual(COMMANDS_WITH_FILES.toSorted());
});

it.each(FORMS)('$line explains each option, with an example that it takes', ({ name, line, form }) => {
  const help = helpOf(name, line.split(' ')[2]);
  const options = Object.entries(form.options ?? {});
  expect(options.filter(([option, { help: text }]) => !/\w{3}/.test(text) || !help.includes(`--${option}`))).toEqual([]);
  expect(help).toContain(`Example:\n  ${form.example}\n`);
  expect(help).toContain(form.summary);
  expect(form.example.startsWith(line)).toBe(true);
  expect(parseCommand(name, splitLine(form.example).slice(2)).words.length).toBeLessThan(4);
});

it('helps with a verb as with its command, also if asked by the word help', () => {
  expect(answerTo(['tasks', 'halt', '--help'], '')).toBe(helpOf('tasks', 'halt'));
  expect(answerTo(['help', 'tasks', 'halt'], '')).toBe(helpOf('tasks', 'halt'));
  expect(answerTo(['tasks', 'hlt', '--help'], '')).toBe(helpOf('tasks'));
  expect(helpOf('tasks')).toMatch(/perdura tasks ls[\s\S]*perdura tasks retry <task>/);
});

it('lists the commands that print a result without a way to print it as JSON', () => {
  const without = FORMS.filter(({ form }) => !('json' in (form.options ?? {}))).map(({ line }) => line.replace('perdura ', ''));
  // Processes that stay and write a log, a demonstration for people, and what writes a script for a shell.
  expect(without).toEqual(['dev', 'demo', 'api', 'worker', 'completions']);
});

it('answers what is asked about the program', () => {
  for (const question of [[], ['help'], ['--help'], ['-h']]) expect(answerTo(question, '1.2.3')).toBe(listOfCommands());
  for (const question of [['--version'], ['-v']]) expect(answerTo(question, '1.2.3')).toBe('1.2.3\n');
  expect(answerTo(['constructor', '--help'], '1.2.3')).toBeNull();
});
