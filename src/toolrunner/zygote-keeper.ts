import { rm, stat } from 'node:fs/promises';
import type { ChildFrame } from './frame.ts';
import type { Job } from './job.ts';
import type { ZygoteSettings } from './settings.ts';
import { startZygote, type Zygote, ZygoteGone, type ZygoteHost } from './zygote.ts';

/** Keeps one zygote running: replaces it when it dies, when packages change, and when other packages must be preloaded. */
export interface ZygoteKeeper {
  call(job: Job, signal: AbortSignal): Promise<ChildFrame | null>;
  /** Replaces the zygote; running calls are ended. */
  replace(preload?: readonly string[]): Promise<void>;
  readonly pid: number;
  stop(): Promise<void>;
}

interface KeeperOptions extends ZygoteHost {
  /** The directories whose change means that packages changed. */
  watched_directories: readonly string[];
  settings(preload: readonly string[]): ZygoteSettings;
  preload: readonly string[];
}

const LOOK_MS = 2_000;
const ATTEMPTS = 3;

export async function keepZygote(options: KeeperOptions): Promise<ZygoteKeeper> {
  let preload = options.preload;
  let current = await begin();
  let packages = await fingerprint(options.watched_directories);
  let last_look = performance.now();
  let changing: Promise<void> | undefined;
  let stopped = false;
  const retired = new Set<Promise<void>>();

  function begin(): Promise<Zygote> {
    return startZygote(options.settings(preload), options);
  }

  async function replaceZygote(): Promise<void> {
    const old = current;
    current = await begin();
    if (stopped) await retire(current);
    const retirement = retire(old).finally(() => retired.delete(retirement));
    retired.add(retirement);
  }

  /** Makes one change at a time; callers wait for a running one. */
  function replaceOnce(): Promise<void> {
    changing ??= replaceZygote().finally(() => {
      changing = undefined;
    });
    return changing;
  }

  async function ensureFresh(): Promise<void> {
    if (!current.alive) return replaceOnce();
    if (performance.now() - last_look < LOOK_MS) return;
    last_look = performance.now();
    const now = await fingerprint(options.watched_directories);
    if (now === packages) return;
    packages = now;
    options.log('tool sandbox: packages changed, starting afresh');
    await replaceOnce();
  }

  return {
    async call(job, signal) {
      for (let attempt = 1; ; attempt += 1) {
        await ensureFresh();
        const zygote = current;
        try {
          return await zygote.call(job, signal);
        } catch (reason) {
          if (!(reason instanceof ZygoteGone) || attempt === ATTEMPTS || stopped) throw reason;
          if (zygote === current) await replaceOnce();
        }
      }
    },
    async replace(packages_to_preload = preload) {
      preload = packages_to_preload;
      await changing;
      await replaceOnce();
    },
    get pid() {
      return current.pid;
    },
    async stop() {
      stopped = true;
      await changing?.catch(() => {});
      await Promise.all([current.stop(), ...retired]);
    },
  };
}

/** Stops a zygote after the last of its calls. */
async function retire(zygote: Zygote): Promise<void> {
  await zygote.idle();
  await zygote.stop();
  await rm(zygote.socket, { force: true });
}

async function fingerprint(paths: readonly string[]): Promise<string> {
  const times = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        ({ mtimeMs, ino }) => `${ino}:${mtimeMs}`,
        () => '-',
      ),
    ),
  );
  return times.join();
}
