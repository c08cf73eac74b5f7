import { existsSync, mkdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { startToolRunner, type ToolRun, type ToolRunnerOptions } from '../../../../src/toolrunner/index.ts';
import { createWorkspaces } from '../../../../src/tools/workspaces.ts';
import { until } from '../../until.ts';
import { listDescendants } from '../picture.ts';
import type { Scene, Stage } from './scenes.ts';

const TIMEOUT_MS = 4_000;
const LIMITS = { memory_mb: 120, tmp_mb: 4, file_mb: 3 };

const SHARED = 'leaves shared memory';

/** Files of one tool each. Those that start something that would last do not wait for it. */
const SOURCES = {
  returns: 'def tool(): return 1',
  raises: 'def tool(): raise ValueError("wrong")',
  'exits by itself': 'import os\ndef tool(): os._exit(3)',
  'is killed': 'import os\ndef tool(): os.kill(os.getpid(), 9)',
  'takes too long': 'import time\ndef tool(): time.sleep(600)',
  'takes too much memory': 'import time\ndef tool():\n held = b"x" * (200 << 20)\n time.sleep(1)\n return len(held)',
  'prints without end': 'import os\ndef tool():\n for _ in range(2000): os.write(1, b"x" * 1024)',
  'leaves daemons': `
import os, subprocess, time
def tool():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: time.sleep(600)
        os._exit(0)
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    return 1`,
  'leaves a stopped process that ignores signals': `
import os, signal, time
def tool():
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    os.kill(child, signal.SIGSTOP)
    return 1`,
  'leaves zombies': 'import os\ndef tool():\n for _ in range(5):\n  if os.fork() == 0: os._exit(0)\n return 1',
  'leaves a lock': `
import fcntl, os, time
def tool():
    file = open(os.environ["TMPDIR"] + "/lock", "w")
    fcntl.flock(file, fcntl.LOCK_EX)
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
    return 1`,
  'fills its disk': `
import os
def tool():
    for number in range(9):
        with open(os.environ["TMPDIR"] + f"/{number}", "wb") as file: file.write(b"x" * (2 << 20))
    import time; time.sleep(1)
    return 1`,
  'leaves closed and deep folders': `
import os
def tool():
    os.chdir(os.environ["TMPDIR"])
    os.mkdir("closed"); os.mkdir("closed/inner")
    try: os.chmod("closed", 0)
    except OSError: pass
    for _ in range(300): os.mkdir("deep"); os.chdir("deep")
    return 1`,
  /** Without confinement nothing keeps it from doing so. */
  [SHARED]: `
import os
def tool():
    try: open("/dev/shm/left-by-a-tool-%d" % os.getpid(), "w").close()
    except OSError: pass
    return 1`,
  'changes its own process': `
import os, resource
def tool():
    os.nice(3)
    os.umask(0)
    os.chdir("/")
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    try: open("/proc/self/oom_score_adj", "w").write("700")
    except OSError: pass
    return 1`,
} satisfies Record<string, string>;

const readCommand = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8');

const BEGINS = `
import os, subprocess, time
def tool():
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    open(os.environ["PERDURA_WORKSPACE"] + "/began", "w").close()
    time.sleep(600)`;
const FILLS_WORKSPACE = `
import os
def tool():
    os.chdir(os.environ["PERDURA_WORKSPACE"])
    os.mkdir("closed"); open("closed/file", "w").close()
    try: os.chmod("closed", 0)
    except OSError: pass
    os.symlink("/etc", "link")
    return 1`;

/** Calls of tools, and looks at their files, in one tier. */
export async function open(folder: string, options: ToolRunnerOptions): Promise<Stage> {
  const parent = join(folder, 'workspaces');
  mkdirSync(parent, { mode: 0o711 });
  const workspaces = createWorkspaces(parent);
  const given = { timeout_ms: TIMEOUT_MS, limits: LIMITS, prefork: 1, workspaces: parent, scratch_dir: folder };
  const runner = await startToolRunner({ ...given, ...options });
  const never = new AbortController().signal;
  const call = async (source: string, more: Partial<ToolRun> = {}, signal = never) => {
    const run = { name: 'tool', source, arguments: {}, env: { LEFT_BY: 'a scene' }, call_key: 'key', ...more };
    const { result, error } = await runner.run(run, signal);
    return error ?? result;
  };
  const inspect = async (source: string) => (await runner.inspect('tool', source)).error ?? 'valid';
  await call(SOURCES.returns, { workspace: await workspaces.openDirectory('first') });
  await workspaces.remove('first');
  await inspect(SOURCES.returns);

  const sources = Object.entries(SOURCES).filter(([name]) => name !== SHARED || runner.isolation !== 'process');
  const scenes: Record<string, Scene> = {
    ...Object.fromEntries(sources.map(([name, source]) => [`a tool that ${name}`, () => call(source)])),
    'a tool that is cancelled while it runs': async () => {
      const workspace = await workspaces.openDirectory('cancelled');
      const stop = new AbortController();
      const ended = call(BEGINS, { workspace }, stop.signal).catch((error: Error) => error.message);
      await until('The tool', async () => existsSync(join(workspace, 'began')));
      stop.abort(new Error('halted'));
      const outcome = await ended;
      await workspaces.remove('cancelled');
      return outcome;
    },
    'a tool that fills its workspace, which is removed': async () => {
      const outcome = await call(FILLS_WORKSPACE, { workspace: await workspaces.openDirectory('filled') });
      await workspaces.remove('filled');
      return outcome;
    },
    'a tool whose workspace lies elsewhere': () => call(SOURCES.returns, { workspace: folder }),
    'a tool whose workspace is missing': () => call(SOURCES.returns, { workspace: join(parent, 'missing') }),
    'a look at a file': () => inspect(SOURCES.returns),
    'a look at a file that is wrong': () => inspect('def tool(: pass'),
    'a look at a file that takes too long': async () => {
      const inspectors = listDescendants(process.pid).filter((pid) => /main\.py\0inspect/.test(readCommand(pid)));
      for (const pid of inspectors) process.kill(pid, 'SIGSTOP');
      const outcome = await inspect(SOURCES.returns);
      return `${outcome}, then ${await inspect(SOURCES.returns)}`;
    },
  };
  return {
    scenes,
    async close() {
      // Afterwards more processes are kept ready for a while.
      await Promise.all(Array.from({ length: 7 }, () => call(SOURCES['leaves daemons'])));
      const pending = call(SOURCES['takes too long']).catch(() => {});
      await runner.close();
      await pending;
      rmdirSync(parent);
    },
  };
}
