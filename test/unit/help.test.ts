import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { answerTo, listOfCommands } from '../../src/main/help.mjs';

const COMMANDS = readdirSync(new URL('../../src/main/commands/', import.meta.url)).map((file) => file.replace('.ts', ''));

it.each(COMMANDS)('%s describes itself without being run', (command) => {
  expect(listOfCommands()).toMatch(new RegExp(`^  ${command} `, 'm'));
  for (const flag of ['--help', '-h']) expect(answerTo([command, 'anything', flag], '1.2.3')).toMatch(`perdura ${command}`);
  expect(answerTo([command, 'anything'], '1.2.3')).toBeNull();
});

it('answers what is asked about the program', () => {
  for (const question of [[], ['help'], ['--help'], ['-h']]) expect(answerTo(question, '1.2.3')).toBe(listOfCommands());
  for (const question of [['--version'], ['-v']]) expect(answerTo(question, '1.2.3')).toBe('1.2.3\n');
  expect(answerTo(['constructor', '--help'], '1.2.3')).toBeNull();
});
