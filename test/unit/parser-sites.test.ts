import { expect, it } from 'vitest';
import {
  CHILD,
  compileSites,
  dependencies,
  importSites,
  OTHERS,
  PARSERS,
  parserOf,
  parsersInUse,
} from '../support/contract/parser-sites.ts';

const isInChild = ({ file }: { file: string }) => file.startsWith(`${CHILD}/`);

it('knows of every dependency whether it parses what others choose', () => {
  expect(dependencies().filter((name) => !PARSERS.includes(name) && !OTHERS.includes(name))).toEqual([]);
});

/** Commands that read a user's own files, in a process of that user alone. */
const OF_USERS = ['main/commands/export.ts', 'main/commands/import.ts', 'main/declared/read.ts', 'main/declared/show.ts'];

/** Compiles only schemas that Perdura wrote itself, known by identity: test/unit/own-schemas.test.ts. */
const OF_OWN_SCHEMAS = 'tools/own-schemas.ts';

it('has parsers in the folder of the child process alone', () => {
  const outside = importSites().filter(
    (site) => !isInChild(site) && !OF_USERS.includes(site.file) && site.file !== OF_OWN_SCHEMAS && parserOf(site.to),
  );
  expect(outside.map(({ file, to }) => `${file} imports ${to}`)).toEqual([]);
  expect(parsersInUse()).not.toEqual([]);
});

it('enters that folder through its process alone', () => {
  const entered = importSites().filter((site) => !isInChild(site) && site.to.startsWith(CHILD));
  expect(entered).toEqual([{ file: 'parsers/process.ts', to: CHILD }]);
});

/** Patterns made from what this service wrote itself. */
const OWN_PATTERNS = ['toolrunner/scratch.ts', 'runtimes/vendor-words.ts'];

it('compiles no pattern or code from a text outside that folder', () => {
  const outside = compileSites().filter((site) => !isInChild(site) && !OWN_PATTERNS.includes(site.file));
  expect(outside.map(({ file, to }) => `${file} makes a ${to}`)).toEqual([]);
});
