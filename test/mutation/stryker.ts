import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Stryker } from '@stryker-mutator/core';
import { filesOf, LEAST, ROOM_VARIABLE, type RoomName, roomNames } from './rooms.ts';

type Result = Awaited<ReturnType<Stryker['runMutationTest']>>[number];

interface Score {
  name: string;
  caught: number;
  of: number;
}

/** Unchanged code with unchanged tests is not tried again. Git ignores the folder. */
const RESULTS = 'node_modules/.cache/perdura-mutants';

export interface Effort {
  /** How many changes are tried at a time. */
  jobs: number;
  /** Also changes what runs while a module loads, such as tables and schemas. For each of these all tests of the room run. */
  constants: boolean;
}

/** Changes every expression of some files of the rooms, one at a time. Whether each room's tests notice enough of the changes. */
export async function scoreRooms(wanted: (file: string) => boolean, effort: Effort): Promise<boolean> {
  const scores: Score[] = [];
  for (const room of roomNames) {
    const files = filesOf(room).filter(wanted);
    if (files.length === 0) continue;
    console.log(`Changing every expression of ${room} (${files.length} files) …`);
    scores.push(...scored(room, await mutated(room, files, effort)));
  }
  if (scores.length === 0) console.log('No file of the rooms is selected.');
  else console.log(`\n| file | caught | of | % |\n|---|---|---|---|\n${scores.map(rowOf).join('\n')}`);
  return scores.filter(({ name }) => (roomNames as string[]).includes(name)).every((score) => percent(score) >= LEAST);
}

async function mutated(room: RoomName, files: string[], { jobs, constants }: Effort): Promise<Result[]> {
  await mkdir(RESULTS, { recursive: true });
  process.env[ROOM_VARIABLE] = room;
  const stryker = new Stryker({
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    mutate: files,
    vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
    coverageAnalysis: 'perTest',
    // Vitest removes the types itself.
    tsconfigFile: 'none',
    concurrency: jobs,
    ignoreStatic: !constants,
    // A busy machine must not turn a surviving change into one that timed out.
    timeoutMS: 30_000,
    incremental: true,
    incrementalFile: join(RESULTS, `${room}.json`),
    tempDirName: join(tmpdir(), `perdura-stryker-${process.pid}`),
    ignorePatterns: ['.perdura', 'dist', 'bench', 'examples'],
    reporters: [process.stdout.isTTY ? 'progress' : 'progress-append-only'],
    logLevel: 'warn',
  } as ConstructorParameters<typeof Stryker>[0]);
  // It also returns what it knows of files that were not asked for.
  return (await stryker.runMutationTest()).filter(({ fileName }) => files.includes(relative('.', fileName)));
}

const CAUGHT = ['Killed', 'Timeout'];
const MISSED = ['Survived', 'NoCoverage'];

/** The score of the room and of each of its files. Prints every change that no test noticed. */
function scored(room: RoomName, results: readonly Result[]): Score[] {
  const judged = results.filter(({ status }) => [...CAUGHT, ...MISSED].includes(status));
  for (const { fileName, location, mutatorName, replacement, status } of judged)
    if (MISSED.includes(status))
      console.log(
        `survived  ${relative('.', fileName)}:${location.start.line}:${location.start.column}  ${mutatorName}: ${replacement}`,
      );
  const scoreOf = (name: string, some: readonly Result[]): Score => ({
    name,
    caught: some.filter(({ status }) => CAUGHT.includes(status)).length,
    of: some.length,
  });
  const byFile = [...Map.groupBy(judged, ({ fileName }) => relative('.', fileName))];
  return [scoreOf(room, judged), ...byFile.map(([name, some]) => scoreOf(name, some))];
}

const percent = ({ caught, of }: Score) => (of === 0 ? 100 : (caught / of) * 100);
const rowOf = (score: Score) => `| ${score.name} | ${score.caught} | ${score.of} | ${percent(score).toFixed(1)} |`;
