import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ToolAnswer, ToolRun, ToolRunnerOptions } from '../../../src/toolrunner/index.ts';
import { type Bench, CONFINED, OLD_LANDLOCK, openBench } from '../support.ts';

/** A service worth attacking: the same secret in its environment, on its disk, behind its sockets and in its processes. */
export interface Host {
  canary: string;
  /** What an attacker may know about it. */
  facts: Record<string, unknown>;
  workspaces: string;
  /** Throws when something of it was changed. */
  check(): void;
  close(): Promise<void>;
}

export async function openHost(): Promise<Host> {
  const canary = `canary-${randomBytes(12).toString('hex')}`;
  const dir = mkdtempSync(join(tmpdir(), 'attacked-'));
  chmodSync(dir, 0o755);
  const workspaces = join(dir, 'workspaces');
  for (const run of ['mine', 'other']) mkdirSync(join(workspaces, run), { recursive: true });
  const files = [join(dir, 'open.txt'), join(dir, 'private.txt'), join(workspaces, 'other', 'file.txt')];
  for (const file of files) writeFileSync(file, canary);
  chmodSync(files[1]!, 0o600);
  process.env.PERDURA_CANARY = canary;
  const sockets = await openSockets(dir, canary);
  const neighbour = spawn('sleep', ['600'], { env: { CANARY: canary }, argv0: `sleep-${canary}`, stdio: 'ignore' });
  return {
    canary,
    workspaces,
    facts: { dir, files, node: process.pid, neighbour: neighbour.pid, ...sockets.facts },
    check() {
      for (const file of files) expect(readFileSync(file, 'utf8')).toBe(canary);
      expect(statSync(files[1]!).mode & 0o777).toBe(0o600);
      expect(neighbour.exitCode ?? neighbour.signalCode).toBeNull();
    },
    async close() {
      delete process.env.PERDURA_CANARY;
      await Promise.all([sockets.close(), stop(neighbour)]);
      rmSync(dir, { recursive: true });
    },
  };
}

async function openSockets(dir: string, canary: string) {
  const open = new Set<Socket>();
  const canaryServer = () =>
    createServer((socket) => {
      open.add(socket.on('error', () => {}).end(`HTTP/1.1 200 OK\r\n\r\n${canary}`));
    });
  const path = join(dir, 'service.sock');
  const abstract = `perdura-${randomBytes(6).toString('hex')}`;
  const servers = [
    canaryServer().listen(0, '127.0.0.1'),
    canaryServer().listen(0, '::1'),
    canaryServer().listen(path),
    canaryServer().listen(`\0${abstract}`),
  ];
  await Promise.all(servers.map((server) => once(server, 'listening')));
  chmodSync(path, 0o777);
  const udp = createSocket('udp4').bind(0, '127.0.0.1');
  await once(udp, 'listening');
  udp.on('message', (_, peer) => udp.send(canary, peer.port, peer.address));
  const [v4, v6] = servers.map((server) => (server.address() as AddressInfo).port);
  return {
    facts: { port: v4, port6: v6, udp: udp.address().port, path, abstract },
    async close() {
      udp.close();
      for (const socket of open) socket.destroy();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

async function stop(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

/** What every attack starts with: `syscall`, which returns minus the error number. */
const PRELUDE = `
import os, sys, socket, ctypes, subprocess, signal, time, glob, resource, threading, mmap
libc = ctypes.CDLL(None, use_errno=True)
def syscall(*args):
    r = libc.syscall(*[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return -ctypes.get_errno() if r < 0 else r
`;

export interface Attack {
  name: string;
  /** The body of `def attack(h)`; it has won when it returns something true. */
  body: string;
  call?: Partial<ToolRun>;
  /** More than that it did not win. */
  expect?: (answer: ToolAnswer) => void;
  /** Why the same code cannot be shown to win against what is the attacker's own. */
  uncontrolled?: string;
}

/** A table row. */
export const attack = (name: string, body: string, rest: Omit<Attack, 'name' | 'body'> = {}): Attack => ({ name, body, ...rest });

export function sourceOf(body: string): string {
  return `${PRELUDE}\ndef attack(h):\n${body.replace(/^/gm, '    ')}\n\ndef tool(h):\n    return attack(h) or False\n`;
}

/** The attack on its own files and processes, and on the service's sockets. Unconfined it must win, or its defeat says nothing. */
const controlOf = (body: string): string => `${PRELUDE}
import tempfile
def own(h):
    base = tempfile.mkdtemp()
    os.makedirs(base + "/workspaces/other")
    files = [base + "/open.txt", base + "/private.txt", base + "/workspaces/other/file.txt"]
    for file in files:
        with open(file, "w") as f: f.write("own")
    children = [subprocess.Popen(["sleep", "60"], env={"CANARY": "own"}).pid for _ in range(2)]
    time.sleep(0.1)
    return {**h, "dir": base, "files": files, "node": children[0], "neighbour": children[1]}

def attack(h):
${body.replace(/^/gm, '    ')}

def tool(h):
    h = own(h)
    try: return bool(attack(h))
    finally:
        for pid in (h["node"], h["neighbour"]):
            try: os.kill(pid, signal.SIGKILL)
            except OSError: pass
`;

/** Those that are aimed at something of the service, by the facts that they use. What speaks to the proxy has a separate control. */
const isControlled = ({ body, uncontrolled }: Attack) =>
  !uncontrolled &&
  !body.includes('HTTP_PROXY') &&
  /h\[\\?["'](?:files|dir|node|neighbour|port6?|udp|path|abstract)\\?["']\]/.test(body);

/** Shows that the code of each attack works where nothing confines it. */
function controls(title: string, table: readonly Attack[]): void {
  const controlled = table.filter(isControlled);
  if (controlled.length === 0) return;
  describe(`${title}, unconfined`, () => {
    let host: Host;
    let bench: Bench;
    beforeAll(async () => {
      host = await openHost();
      bench = await openBench({ isolation: 'none', timeout_ms: 10_000 });
    });
    afterAll(async () => {
      await bench.runner.close();
      await host.close();
    });
    it.each(controlled)(
      'wins: $name',
      async ({ body }) => {
        expect(await bench.value(controlOf(body), { arguments: { h: host.facts } })).toBe(true);
        host.check();
      },
      PATIENCE_MS,
    );
  });
}

const PATIENCE_MS = 60_000;

/** Mistakes of an attack, as opposed to its defeat. */
const MISTAKE = /NameError|SyntaxError|AttributeError|ImportError|UnboundLocalError|IndentationError|TypeError/;

export const ATTACKED = { ...CONFINED, ...OLD_LANDLOCK };

/** Runs every attack in every confined tier; each must fail, change nothing, reveal nothing, and leave the next call unharmed. */
export function attacks(title: string, table: readonly Attack[], options: ToolRunnerOptions = {}, tiers = ATTACKED): void {
  controls(title, table);
  describe.each(Object.entries(tiers))(`${title} in the tier %s`, (_, tier) => {
    let host: Host;
    let bench: Bench;
    beforeAll(async () => {
      host = await openHost();
      bench = await openBench({ timeout_ms: 2_500, workspaces: host.workspaces, ...options, ...tier });
    });
    afterAll(async () => {
      await bench.runner.close();
      await host.close();
    });
    it.each(table)(
      'fails: $name',
      async ({ body, call, expect: more }) => {
        const answer = await bench.call(sourceOf(body), { arguments: { h: host.facts }, ...call });
        expect(answer.error === null && JSON.parse(answer.result).result, 'the attack won').toBe(false);
        expect(`${answer.error} ${answer.stderr}`).not.toMatch(MISTAKE);
        expect(JSON.stringify(answer)).not.toContain(host.canary);
        more?.(answer);
        host.check();
        expect(await bench.value('def tool(): return "unharmed"')).toBe('unharmed');
      },
      PATIENCE_MS,
    );
  });
}
