import { lstat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type EgressProxy, startEgressProxy } from '../egress/proxy.ts';
import { egressRules } from '../egress/rules.ts';
import type { Interpreter } from './interpreter.ts';
import type { ToolRunnerOptions } from './options.ts';
import type { Scratch } from './scratch.ts';
import { CALL_LIMITS, type ConfinementSettings, type Isolation, type Limits, type Tier, TOOL_GID, TOOL_UID } from './settings.ts';
import { keepZygote, type ZygoteKeeper } from './zygote-keeper.ts';

/** Runs calls, and holds the rules under which commands are started. */
export interface Confinement {
  tier: Isolation;
  /** The reason why no stronger tier is in force; '' in the strongest. */
  reason: string;
  zygote: ZygoteKeeper | null;
  proxy: EgressProxy | null;
  settings(limits: Limits): ConfinementSettings;
  close(): Promise<void>;
}

interface Ground {
  options: ToolRunnerOptions;
  interpreter: Interpreter;
  scratch: Scratch;
  /** Returns the command line of one of Perdura's Python processes. */
  command(name: string): string[];
  log(line: string): void;
}

const PREFORK = 4;

/** Finds the strongest tier that works here: before this resolves, a whole call has been prepared in it. */
export async function findConfinement(ground: Ground): Promise<Confinement> {
  const { options, log } = ground;
  if (options.isolation === 'none') {
    log('tools run WITHOUT confinement: a tool can do whatever the service can (isolation is set to none)');
    return without('process', 'isolation is set to none', ground);
  }
  const tiers: Tier[] = options.tier
    ? [options.tier]
    : options.isolation === 'strict'
      ? ['namespaces']
      : ['namespaces', 'landlock'];
  const reasons: string[] = [];
  for (const tier of tiers) {
    try {
      return await tryTier(tier, reasons.join('; '), ground);
    } catch (reason) {
      reasons.push(`${tier}: ${(reason as Error).message}`);
    }
  }
  const reason = reasons.join('; ');
  log(`tools will NOT run: they cannot be confined on this machine (${reason})`);
  return without('refused', reason, ground);
}

function without(tier: 'process' | 'refused', reason: string, ground: Ground): Confinement {
  return {
    tier,
    reason,
    zygote: null,
    proxy: null,
    settings: createSettingsBuilder('process', null, ground),
    close: async () => {},
  };
}

async function tryTier(tier: Tier, reason: string, ground: Ground): Promise<Confinement> {
  const { options, scratch, interpreter, log } = ground;
  if (process.platform !== 'linux') throw new Error('only Linux can confine tools');
  if (options.workspaces) await lstat(options.workspaces);
  const path = tier === 'namespaces' ? scratch.socket() : undefined;
  const rules = egressRules(options.egress_allow, options.own_ports);
  const proxy = await startEgressProxy({ rules, ...(path ? { path } : {}) });
  const settings = createSettingsBuilder(tier, path ?? null, ground);
  try {
    const zygote = await keepZygote({
      command: ground.command('zygote'),
      run_as: options.run_as,
      log,
      watched_directories: interpreter.site_packages,
      preload: options.preload ?? [],
      settings: (preload) => ({
        ...settings({ ...CALL_LIMITS, ...options.limits }),
        socket: scratch.socket(),
        preload: [...preload],
        prefork: options.prefork ?? PREFORK,
      }),
    });
    const close = async () => {
      await zygote.stop();
      await proxy.close();
    };
    return { tier, reason, zygote, proxy, settings, close };
  } catch (failure) {
    await proxy.close();
    throw failure;
  }
}

function createSettingsBuilder(tier: Tier | 'process', egress_socket: string | null, { options, scratch, interpreter }: Ground) {
  const user = options.run_as ?? { uid: process.getuid!(), gid: process.getgid!() };
  const as_tools = user.uid === 0 ? { uid: TOOL_UID, gid: TOOL_GID } : user;
  return (limits: Limits): ConfinementSettings => ({
    tier,
    root: scratch.root,
    scratch: scratch.calls,
    read_only: [...new Set([interpreter.base_prefix, interpreter.prefix])],
    host_paths: [],
    workspaces: options.workspaces ? resolve(options.workspaces) : null,
    egress_socket,
    ...as_tools,
    limits,
    landlock_level: options.landlock_level ?? null,
  });
}
