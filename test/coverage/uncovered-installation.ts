import type { Uncovered } from './uncovered.ts';

/** Those of `src/main` and `src/embedded`. */
export const UNCOVERED_OF_INSTALLATION: readonly Uncovered[] = [
  {
    file: 'src/embedded/account.ts',
    text: 'if (uid && gid) return { name, uid, gid };',
    reason: 'A system without the users "postgres" and "nobody".',
  },
  {
    file: 'src/embedded/archive.ts',
    text: '(Child|Error)/.test(line)) ?? errors',
    reason: 'A tar that reports nothing but its end.',
  },
  {
    file: 'src/embedded/fair-queues.ts',
    text: 'if (!sqlite) return false;',
    reason: 'Only a version of Node without SQLite takes it.',
  },
  {
    file: 'src/embedded/files.ts',
    text: "if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;",
    reason: 'A file system without hard links, or a disk that fails.',
  },
  {
    file: 'src/embedded/listening.ts',
    text: 'listensOnLinux(pid, port) : listensByLsof(pid, port)',
    reason: 'Only other systems than Linux take it.',
  },
  {
    file: 'src/embedded/listening.ts',
    text: "(process.platform === 'linux' ? openOnLinux : openByLsof)",
    reason: 'Only other systems than Linux take it.',
  },
  {
    file: 'src/embedded/listening.ts',
    text: "return line.startsWith('n') && basename(line) === name",
    reason: 'Only other systems than Linux take it.',
  },
  {
    file: 'src/embedded/listening.ts',
    text: '? [{ dev: null, ino: BigInt(inode.slice(1)) }]',
    reason: 'Only other systems than Linux take it.',
  },
  {
    file: 'src/embedded/listening.ts',
    text: ': [];',
    reason: 'Only other systems than Linux take it.',
  },
  {
    file: 'src/embedded/listening.ts',
    text: 'if (identity) identities.push(identity);',
    reason: 'A file that another process closes between the list and the look at it.',
  },
  {
    file: 'src/embedded/lock-file.ts',
    text: "(await readIfExists(toLockPath(file, last))) ?? ''",
    reason: 'A lock that another process removes between the list and the look at it.',
  },
  {
    file: 'src/embedded/lock-file.ts',
    text: 'if (others.some((other) => other > number)) {',
    reason: 'Two processes that take a lock in the same moment.',
  },
  {
    file: 'src/embedded/lock-file.ts',
    text: "if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;",
    reason: 'A home that is removed while its lock is held, or a disk that fails.',
  },
  {
    file: 'src/embedded/ports.ts',
    text: '?? Promise.reject(new Error(`No port is free',
    reason: 'A machine without a free port.',
  },
  {
    file: 'src/embedded/postgres-binaries.ts',
    text: 'const root = ready ? native : await copyBinaries(',
    reason: 'Packages that the user of Postgres cannot use where they are; the tests run on those of a checkout, which it can.',
  },
  {
    file: 'src/embedded/postgres-binaries.ts',
    text: 'if (code === 0) return root;',
    reason: 'A system whose libraries the programs of Postgres cannot use.',
  },
  {
    file: 'src/embedded/postgres-binaries.ts',
    text: "code !== 'MODULE_NOT_FOUND') throw error;",
    reason: 'Packages without the one of this platform; or a disk that fails.',
  },
  {
    file: 'src/embedded/postgres-binaries.ts',
    text: "if (['EACCES', 'EPERM', 'EROFS'].includes(",
    reason: 'Packages that the user may not change, and coverage is measured as root; or a disk that fails.',
  },
  {
    file: 'src/embedded/postgres-binaries.ts',
    text: 'if (await lstat(link).catch(() => undefined)) continue;',
    reason: 'Packages whose install script npm has left out.',
  },
  {
    file: 'src/embedded/postgres-binaries.ts',
    text: "if (error.code !== 'EEXIST') throw error;",
    reason: 'Packages whose install script npm has left out, and two starts in the same moment.',
  },
  {
    file: 'src/embedded/postgres-binaries.ts',
    text: 'if (!(mode & constants.S_IXUSR)) await chmod(',
    reason: 'Packages whose install script npm has left out.',
  },
  {
    file: 'src/embedded/postgres-binaries.ts',
    text: 'if (await exists(place)) return place;',
    reason: 'Packages that the user of Postgres cannot use where they are; the tests run on those of a checkout, which it can.',
  },
  {
    file: 'src/embedded/postgres-binaries.ts',
    text: 'if (!(await exists(place))) throw error;',
    reason: 'Packages that the user of Postgres cannot use where they are; the tests run on those of a checkout, which it can.',
  },
  {
    file: 'src/embedded/postgres-cluster.ts',
    text: "if (process.platform === 'linux' && (await listProcesses(data)).length === 0)",
    reason: 'Only other systems than Linux take it.',
  },
  {
    file: 'src/embedded/postgres-cluster.ts',
    text: '(await listProcesses(data)).includes(pid) : (await findCommand(pid))',
    reason: 'Only other systems than Linux take it.',
  },
  {
    file: 'src/embedded/postgres-place.ts',
    text: 'which only root can reach: it was first started by root.',
    reason: 'Only an ordinary user takes it, and coverage is measured as root.',
  },
  {
    file: 'src/embedded/postgres-place.ts',
    text: 'cannot be given to user ',
    reason: 'A disk that fails, or one on which files have no owners.',
  },
  {
    file: 'src/embedded/processes.ts',
    text: 'findLinuxMark(pid) : findPortableMark(pid)',
    reason: 'Only other systems than Linux take it.',
  },
  {
    file: 'src/embedded/processes.ts',
    text: "const [state = 'Z', ...started] = output",
    reason: 'Only other systems than Linux take it.',
  },
  {
    file: 'src/embedded/processes.ts',
    text: "return code !== 0 || state.startsWith('Z')",
    reason: 'Only other systems than Linux take it.',
  },
  {
    file: 'src/embedded/processes.ts',
    text: "if (process.platform === 'linux') return (await readOrEmpty(",
    reason: 'Only other systems than Linux take it.',
  },
  {
    file: 'src/embedded/temporal-obtain.ts',
    text: "process.arch === 'x64' ? 'amd64' : process.arch",
    reason: 'Only other processors than those of the tests take it.',
  },
  {
    file: 'src/embedded/temporal-obtain.ts',
    text: 'if (performance.now() < next) return;',
    reason: 'A download or a build of more than fifteen seconds.',
  },
  {
    file: 'src/embedded/temporal.ts',
    text: "?? { pid, started: '' };",
    reason: 'A server that has ended before it is looked at for the first time.',
  },
  {
    file: 'src/embedded/temporal.ts',
    text: "randomInt(1, 255)].join('.')}` : HOST",
    reason: 'Only other systems than Linux take it.',
  },
  {
    file: 'src/main/declared/show.ts',
    text: 'if (!parts) return [',
    reason: 'Two texts whose comparison takes longer than two seconds.',
  },
  {
    file: 'src/main/home-mark.ts',
    text: '(birthtimeNs > 0n ? `',
    reason: 'A file system that does not record when its files were created.',
  },
  {
    file: 'src/main/commands/api.ts',
    text: 'config.PERDURA_PORT ?? DEFAULT_PORT })}`',
    reason: 'Tests listen at free ports and on loopback only, never at the default address.',
  },
  {
    file: 'src/main/wiring/knowledge.ts',
    text: 'if (source) await knowledge.probe(',
    reason: 'A source that another request deletes between two statements.',
  },
  {
    file: 'src/main/wiring/mcp-probe.ts',
    text: "if (!server) throw new AppError('not_found'",
    reason: 'A server that another request deletes between two statements.',
  },
  {
    file: 'src/main/wiring/mcp-sign-ins.ts',
    text: "if (!server) throw new AppError('not_found'",
    reason: 'A server that another request deletes between two statements.',
  },
  {
    file: 'src/main/wiring/runs/parking.ts',
    text: 'if (task) await parkBehind(core)(',
    reason: 'A task that is removed while its run ends.',
  },
  {
    file: 'src/main/wiring/runs/secrets.ts',
    text: 'if (!run) return false;',
    reason: 'A task that is removed while a worker executes a call of it.',
  },
  {
    file: 'src/main/wiring/runs/secrets.ts',
    text: 'if (!definition) return false;',
    reason: 'A task that is removed while a worker executes a call of it.',
  },
  {
    file: 'src/main/wiring/runs/tools.ts',
    text: '(await store.runs.freezeToolset(run, { toolset, events })) ? box',
    reason: 'Two attempts of a first step that list the tools in the same moment.',
  },
  {
    file: 'src/main/wiring/runs/tools.ts',
    text: '((await store.runs.open(task_id, 1))?.toolset ?? null)',
    reason: 'Two attempts of a first step that list the tools in the same moment.',
  },
  {
    file: 'src/embedded/temporal.ts',
    text: '(await hasOpen(pid, database)) ?? (await findCommand(pid))',
    reason: 'A server that was started a moment ago and has not opened its database yet.',
  },
  {
    file: 'src/main/commands/demo.ts',
    text: 'await wait(ended ? 0 : 500)',
    reason: 'A stream that is lost in the middle of the run of the demo.',
  },
  {
    file: 'src/main/commands/dev.ts',
    text: 'if (!running) {',
    reason: 'An installation that is stopped before it has started.',
  },
  {
    file: 'src/main/commands/restored.ts',
    text: '?? (await loadRunningAddresses(config)).database_url',
    reason: 'Only a test of accidents takes it (restored-home.test.ts), which coverage leaves out.',
  },
];
