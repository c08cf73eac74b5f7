import type { StageReport } from './scenes.ts';

const FILLED = /No space left|too much data|File too large|"result": 1/;
const CLOSED = /Connection closed/;

/** What each scene comes to: otherwise it did not happen. */
const OUTCOMES: Record<string, RegExp> = {
  'a tool that returns': /"result": 1/,
  'a tool that raises': /^wrong$/,
  'a tool that exits by itself': /exit code 3/,
  'a tool that is killed': /signal 9/,
  'a tool that takes too long': /^timed out$/,
  'a tool that takes too much memory': /out of memory|"result": 209715200|timed out/,
  'a tool that prints without end': /"result": null/,
  'a tool that leaves daemons': /"result": 1/,
  'a tool that leaves a stopped process that ignores signals': /"result": 1/,
  'a tool that leaves zombies': /"result": 1/,
  'a tool that leaves a lock': /"result": 1/,
  'a tool that fills its disk': FILLED,
  'a tool that leaves closed and deep folders': /"result": 1/,
  'a tool that leaves shared memory': /"result": 1/,
  'a tool that changes its own process': /"result": 1/,
  'a tool that is cancelled while it runs': /^halted$/,
  'a tool that fills its workspace, which is removed': /"result": 1/,
  'a tool whose workspace lies elsewhere': /not below the directory for workspaces|"result": 1/,
  'a tool whose workspace is missing': /No such file|ENOENT|exit code 71/,
  'a look at a file': /^valid$/,
  'a look at a file that is wrong': /syntax/,
  'a look at a file that takes too long': /too complex to analyse.*, then valid$/,
  'a command that ends': /^done exit 0$/,
  'a command that leaves a daemon': /^began exit 0$/,
  'a command that is killed': /^exit 137$/,
  'a command that ignores every signal it can': /^exit 137$/,
  'a command that stopped itself': /^exit 137$/,
  'a command that waits for its input': /^exit 0$/,
  'a command that is not there': /no such command/,
  'a command whose folder is not there': /No such file/,
  'a command whose workspace lies elsewhere': /not below the directory for workspaces|exit 0/,
  'a command whose workspace is missing': /No such file|ENOENT/,
  'a command that may not have a path': /cannot be given/,
  'a command that was aborted before': /^halted$/,
  'a command that is aborted while it starts': /^halted$/,
  'a command that is aborted while it runs': /^exit 137$/,
  'a server that ends with its input': /^1 tool, called$/,
  'a server that ends at its start': CLOSED,
  'a server that ends during a call': CLOSED,
  'a server that is killed': CLOSED,
  'a server that hangs at shutdown': /^1 tool, called$/,
  'a server that leaves a daemon': /^1 tool, called$/,
  'a server that is silent': /did not answer/,
  'a server whose call is cancelled': /abort/,
  'a server that may not have its path': /cannot be given/,
  'a checkout': /^\.git README\.md$/,
  'a checkout of a branch': /^\.git one two$/,
  'a checkout of a branch that is not there': /Remote branch nowhere not found/,
  'a checkout with a wrong token': /Authentication failed/,
  'a checkout of too large files': /one is larger than/,
  'a checkout of too much': /it is larger than/,
  'a checkout of too many files': /more than 1 files/,
  'a checkout whose names differ in case only': /file/,
  'a checkout from an address that is not allowed': /not allowed/,
  'a checkout that takes too long': /longer than 1 s/,
  'a checkout that is cancelled': /^halted$/,
  'two checkouts of one run at once': /^\.git README\.md$/,
  'a checkout whose place is taken by a file': /ENOTDIR/,
};

/** Lists the scenes that did not come to what they should, and all that is left on the machine. */
export function listFaults({ scenes, left }: StageReport): string[] {
  const faults = Object.entries(scenes).flatMap(([scene, { outcome, left }]) => [
    ...(OUTCOMES[scene]?.test(outcome) ? [] : [`${scene}: came to ${outcome}`]),
    ...left.map((fact) => `${scene}: left ${fact}`),
  ]);
  return [...faults, ...left.map((fact) => `the whole stage: left ${fact}`)];
}
