#!/usr/bin/env node
// The entry point of every command. It runs on Node 20 before anything is installed, so it is plain JavaScript and uses only
// Node's modules.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { basename, delimiter, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { holdingLock } from './install-lock.mjs';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
/** True in the published package, which contains compiled code and needs no preparation. */
const IS_PACKAGE = !existsSync(join(ROOT, 'src'));
const CODE = IS_PACKAGE ? 'lib' : 'src';
const WORK = join(ROOT, '.perdura');
const MODULES = join(ROOT, 'node_modules');
const CLIENT = join(ROOT, 'src/generated/prisma');
const SCHEMA = join(ROOT, 'prisma/schema.prisma');
const DASHBOARD = join(ROOT, 'dist/dashboard');
const DASHBOARD_CONFIG = join(ROOT, 'src/dashboard/vite.config.ts');
const LOCKFILE = join(ROOT, 'package-lock.json');
const SCRIPTS = {
  build: 'bin/build.mjs',
  test: 'test/support/harness/run-tests.ts',
  coverage: 'test/coverage/run.ts',
  bench: 'bench/run.ts',
  'bench:tools': 'bench/tools.ts',
  'bench:event-load': 'bench/event-load.ts',
  'bench:screens': 'bench/screens.ts',
  'bench:engine-memory': 'bench/engine-memory.ts',
  screenshots: 'test/screenshots/run.ts',
  chaos: 'test/chaos/run.ts',
  accidents: 'test/accidents/run.ts',
};
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const OLDEST_NODE = [22, 12];

/** An error that the user has to fix; printed without a stack trace. */
class Trouble extends Error {}

const STEPS = [
  {
    label: 'Installing packages',
    log: join(WORK, 'install.log'),
    done: packagesAreCurrent,
    run: (log) =>
      runLogged(npm('ci', '--loglevel=notice', '--include=dev', '--include=optional', '--no-audit', '--no-fund'), log),
    stamp: () => stamp(join(MODULES, '.perdura-lock-hash'), hashOf(LOCKFILE)),
  },
  {
    label: 'Generating the database client',
    log: join(WORK, 'generate.log'),
    done: () => !existsSync(SCHEMA) || readOr(join(CLIENT, '.perdura-schema-hash')) === schemaHash(),
    run: (log) => runLogged([usableNode(), [join(MODULES, 'prisma/build/index.js'), 'generate']], log),
    stamp: () => stamp(join(CLIENT, '.perdura-schema-hash'), schemaHash()),
  },
  {
    label: 'Building the dashboard',
    log: join(WORK, 'dashboard.log'),
    done: () => !existsSync(DASHBOARD_CONFIG) || readOr(join(DASHBOARD, '.perdura-source-hash')) === dashboardHash(),
    run: (log) => runLogged([usableNode(), [join(MODULES, 'vite/bin/vite.js'), 'build', '--config', DASHBOARD_CONFIG]], log),
    stamp: () => stamp(join(DASHBOARD, '.perdura-source-hash'), dashboardHash()),
  },
];

async function main([command = 'help', ...args]) {
  const answer = await aboutItself([command, ...args]);
  if (answer !== null) {
    process.stdout.write(answer);
    return 0;
  }
  const remote = await isRemote(command);
  checkMachine();
  if (!remote) checkPython();
  // If two first starts run at once, the second one waits, so that both do not install into the same folder.
  const waits = (holder) => warn(`Process ${holder} is preparing this folder; waiting for it.`);
  if (IS_PACKAGE && SCRIPTS[command])
    throw new Trouble(`perdura ${command} needs a checkout of the repository, not the package.`);
  const steps = IS_PACKAGE ? [] : remote ? STEPS.slice(0, 1) : STEPS;
  for (const step of steps) if (!step.done()) await holdingLock(WORK, () => perform(step), waits);
  const script = join(ROOT, SCRIPTS[command] ?? `${CODE}/main/cli.${IS_PACKAGE ? 'js' : 'ts'}`);
  const node = usableNode();
  return hand(node, [...nodeFlags(node), script, ...(SCRIPTS[command] ? args : [command, ...args])]);
}

/** True if a command is only a client of the API, which needs nothing but the packages. */
const isRemote = async (command) => (await import(join(ROOT, CODE, 'main/help.mjs'))).isRemote(command);

/** Returns the output of `--help` and similar options; null if there is a command to run. */
async function aboutItself(args) {
  const { answerTo } = await import(join(ROOT, CODE, 'main/help.mjs'));
  return answerTo(args, JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version);
}

function checkMachine() {
  const { platform, arch, versions } = process;
  if (platform !== 'linux' && platform !== 'darwin')
    throw new Trouble(`Perdura runs on Linux and macOS, not on ${platform}. On Windows, use WSL 2.`);
  if (arch !== 'x64' && arch !== 'arm64') throw new Trouble(`Perdura runs on x64 and arm64 processors, not on ${arch}.`);
  if (Number(versions.node.split('.')[0]) < 20)
    throw new Trouble(`Node ${versions.node} is too old: Perdura needs Node 20 or newer.`);
  if (process.report) process.report.excludeNetwork = true;
  if (platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime)
    throw new Trouble(
      'Perdura needs a Linux with glibc (Debian, Ubuntu, Fedora …); this one uses another C library, such as musl on Alpine.',
    );
}

function checkPython() {
  const python = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']);
  if (python.error)
    warn('python3 was not found: custom tools, file tools, bash and MCP servers started by a command do not run without it.');
  else if (python.status !== 0)
    warn('python3 is older than 3.9: custom tools, file tools, bash and MCP servers started by a command do not run.');
}

/**
 * True if the packages are current: this script installed them for this lockfile, or npm's record of the folder agrees with it.
 */
function packagesAreCurrent() {
  const hash = hashOf(LOCKFILE);
  const stampFile = join(MODULES, '.perdura-lock-hash');
  if (readOr(stampFile) === hash) return true;
  const installed = packagesOf(join(MODULES, '.package-lock.json'));
  const wanted = packagesOf(LOCKFILE);
  if (!installed || !wanted) return false;
  const present = ([path, it]) => (installed[path] ? installed[path].version === it.version : it.optional || it.devOptional);
  const same =
    Object.entries(wanted).every((entry) => entry[0] === '' || present(entry)) &&
    Object.keys(installed).every((path) => wanted[path]);
  if (same) stamp(stampFile, hash);
  return same;
}

function packagesOf(file) {
  const text = readOr(file);
  return text && JSON.parse(text).packages;
}

async function perform(step) {
  // Another start may have finished the step while this one waited for the lock.
  if (step.done()) return;
  const finish = progress(step.label);
  try {
    await step.run(step.log);
    step.stamp();
    finish('done');
  } catch (error) {
    finish('failed');
    const tail = readOr(step.log).trimEnd().split('\n').slice(-25).join('\n');
    throw error instanceof Trouble
      ? error
      : new Trouble(`${tail}\n\n${step.label} failed: ${error.message}. The whole log: ${step.log}`);
  }
}

/** Shows a line with the time that a step has taken: redrawn on a terminal, otherwise repeated every 20 seconds. */
function progress(label) {
  const { isTTY } = process.stderr;
  const started = Date.now();
  const show = (state) =>
    process.stderr.write(
      `${isTTY ? '\r\x1b[K' : ''}${label} … ${state} (${Math.round((Date.now() - started) / 1000)} s)${isTTY ? '' : '\n'}`,
    );
  if (isTTY) show('');
  else process.stderr.write(`${label} …\n`);
  const timer = setInterval(show, isTTY ? 1_000 : 20_000, 'still at it');
  return (state) => {
    clearInterval(timer);
    show(state);
    if (isTTY) process.stderr.write('\n');
  };
}

function npm(...args) {
  const running = process.env.npm_execpath;
  return running && basename(running) === 'npm-cli.js' ? [process.execPath, [running, ...args]] : ['npm', args];
}

/** Runs a program with its output in a log file; stops it if this process is stopped. */
function runLogged([program, args], log) {
  return new Promise((done, fail) => {
    const out = openSync(log, 'w');
    const child = spawn(program, args, { cwd: ROOT, env: { ...environment(), ...QUIET }, stdio: ['ignore', out, out] });
    closeSync(out);
    let stopped;
    const stop = (signal) => {
      stopped = signal;
      child.kill(signal);
    };
    for (const signal of SIGNALS) process.once(signal, stop);
    child.once('error', (error) => fail(new Error(error.code === 'ENOENT' ? `${program} was not found` : error.message)));
    child.once('exit', (code, signal) => {
      for (const name of SIGNALS) process.removeListener(name, stop);
      if (stopped) fail(new Trouble(`Stopped by ${stopped}.`));
      else if (code === 0) done();
      else fail(new Error(`${basename(program)} ended with ${signal ?? `code ${code}`}`));
    });
  });
}

const QUIET = { CHECKPOINT_DISABLE: '1', PRISMA_HIDE_UPDATE_MESSAGE: '1', NO_UPDATE_NOTIFIER: '1' };

/** The environment that makes Node cache compiled sources: compiling them takes half of a process's start. */
const COMPILED = IS_PACKAGE ? {} : { NODE_COMPILE_CACHE: join(WORK, 'compiled') };

function environment() {
  return { ...COMPILED, ...process.env, PATH: `${join(MODULES, '.bin')}${delimiter}${process.env.PATH ?? ''}` };
}

/**
 * Returns the Node that comes with the packages. If there is none for the platform, returns the running one if it is new
 * enough.
 */
function usableNode() {
  const own = nodeOfPackages();
  if (own && spawnSync(own, ['--version']).status === 0) return own;
  if (isAtLeast(process.versions.node, OLDEST_NODE)) return process.execPath;
  throw new Trouble(
    `Node ${process.versions.node} can install Perdura but not run it, and no newer Node came with the packages for ${process.platform}-${process.arch}. ` +
      `Install Node ${OLDEST_NODE.join('.')} or newer (24 is best) and start again.`,
  );
}

function nodeOfPackages() {
  try {
    const manifest = createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/package.json`);
    return join(dirname(manifest), 'bin/node');
  } catch {
    return null;
  }
}

/**
 * Gives young objects more memory: a run creates much garbage, less of it is then copied, and that saves a tenth of the CPU
 * time.
 */
const ROOM = '--max-semi-space-size=64';

/** Returns the flags for Node. Before 22.18, and in 23.0 to 23.5, it strips types only with a flag. */
function nodeFlags(node) {
  const version = node === process.execPath ? process.versions.node : '24.0.0';
  const strips = isAtLeast(version, [23, 6]) || (version.startsWith('22.') && isAtLeast(version, [22, 18]));
  return ['--disable-warning=ExperimentalWarning', ROOM, ...(strips ? [] : ['--experimental-strip-types'])];
}

function isAtLeast(version, [major, minor]) {
  const [a, b] = version.split('.').map(Number);
  return a > major || (a === major && b >= minor);
}

/**
 * Starts the real program and returns its exit code. The IPC channel closes when this process dies, even after kill -9. On a
 * terminal, Ctrl-C reaches the program directly; forwarding it too would count as a second, impatient Ctrl-C.
 */
function hand(node, args) {
  return new Promise((done, fail) => {
    const child = spawn(node, args, { cwd: process.cwd(), env: environment(), stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
    let last = 0;
    for (const signal of SIGNALS)
      process.on(signal, () => {
        // npm forwards signals that its whole process group has already received, so one signal may arrive twice.
        const repeated = Date.now() - last < 1_000;
        last = Date.now();
        if (!repeated && (signal === 'SIGTERM' || !process.stdin.isTTY)) child.kill(signal);
      });
    if (process.env.npm_lifecycle_event) whenOrphaned(() => child.kill('SIGTERM'));
    child.once('error', fail);
    child.once('exit', (code, signal) => done(code ?? 128 + constants.signals[signal]));
  });
}

/** Acts when npm has ended. A signal that ends npm is meant for this program, but npm's shell dies without forwarding it. */
function whenOrphaned(act) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    act();
  }, 500);
}

function hashOf(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** Hashes the schema with Prisma's version: a new Prisma may generate other code from the same schema. */
function schemaHash() {
  const prisma = readOr(join(MODULES, 'prisma/package.json'));
  return `${hashOf(SCHEMA)}-${prisma && JSON.parse(prisma).version}`;
}

/** Hashes the inputs of the dashboard's build: its source, the contracts that it shares with the API, the docs, and the packages. */
function dashboardHash() {
  const hash = createHash('sha256').update(readFileSync(LOCKFILE));
  for (const folder of ['src/contracts', 'src/dashboard', 'docs'])
    for (const entry of readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((it) => it.isFile())
      .map((it) => join(it.parentPath ?? it.path, it.name))
      .sort())
      hash.update(`${relative(ROOT, entry)}\0`).update(readFileSync(entry));
  return hash.digest('hex');
}

function readOr(file, otherwise = '') {
  return existsSync(file) ? readFileSync(file, 'utf8') : otherwise;
}

/** Writes a stamp. A read-only installation keeps none and is compared again next time. */
function stamp(file, text) {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  } catch (error) {
    if (error.code !== 'EACCES' && error.code !== 'EROFS') throw error;
  }
}

function warn(text) {
  process.stderr.write(`${text}\n`);
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error) => {
    warn(error instanceof Trouble ? error.message : error.stack);
    process.exit(1);
  },
);
