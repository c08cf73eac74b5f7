import { createHash } from 'node:crypto';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { asLack } from '../../domain/outages.ts';
import { OutsideRefused } from '../../domain/outside.ts';
import { isUuid } from '../../domain/uuid.ts';
import { removeFolder } from '../../folders/remove.ts';
import { measureSize, watchSize } from '../size-watch.ts';
import type { StartConfined } from './stdio.ts';

interface StateOptions {
  /** The folder of all state. */
  parent: string;
  /** The limits of each server's state for one principal. */
  limits: { bytes: number; files: number };
}

/** Whose state of which server. Principals never share a folder, as they never share a process. */
interface StatePlace {
  server_id: string;
  principal: string;
}

/** The folders in which stdio servers keep what outlasts their processes. */
export interface McpState {
  /**
   * Opens a folder, which is created if it is missing, and returns a function that starts a command in it. Throws a sentence if
   * the folder is full. `onFull` receives the refusal if a command fills it; the command is then ended. It is also ended when the
   * folder is deleted, by whichever process of the installation.
   */
  open(place: StatePlace, start: StartConfined, onFull: (refusal: Error) => void): Promise<StartConfined>;
  /** Deletes the state of one principal. */
  clear(place: StatePlace): Promise<void>;
  /** Deletes the state of a server. */
  remove(server_id: string): Promise<void>;
  /** Lists the ids of the servers that have state. */
  listServers(): Promise<string[]>;
}

/** The code of the refusal of a process whose state exceeds its limits. */
export const STATE_FULL = 'mcp_state_full';

const MIB = 1_024 ** 2;
/** How often a worker looks if the folder of a process still exists. */
const LOOK_MS = 1_000;

/** Returns the inode of a folder; null if there is none. */
const findInode = (folder: string): Promise<bigint | null> =>
  stat(folder, { bigint: true }).then(
    ({ ino }) => ino,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    },
  );

export function createMcpState({ parent, limits }: StateOptions): McpState {
  const toServerFolder = (server_id: string) => {
    if (!isUuid(server_id)) throw new Error(`${server_id} is not the id of a server`);
    return join(parent, server_id);
  };
  // A principal's name may have any characters.
  const toFolder = ({ server_id, principal }: StatePlace) =>
    join(toServerFolder(server_id), createHash('sha256').update(principal).digest('hex').slice(0, 32));
  const describeFull = ({ server_id }: StatePlace, fault: string) => {
    const most = `at most ${Math.round(limits.bytes / MIB)} MiB (MCP_STATE_MB) and ${limits.files} files (MCP_STATE_FILES)`;
    return `its state is full: ${fault}; it may have ${most}. Delete it with DELETE /api/mcps/${server_id}/state`;
  };

  async function openStateFolder(place: StatePlace): Promise<string> {
    const folder = toFolder(place);
    await mkdir(toServerFolder(place.server_id), { recursive: true, mode: 0o711 });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const { fault } = await measureSize(folder, limits);
    if (fault) throw new OutsideRefused(describeFull(place, fault), STATE_FULL);
    return folder;
  }

  return {
    async open(place, start, onFull) {
      const folder = await openStateFolder(place).catch((error: unknown) => {
        throw asLack(error, 'the state of MCP servers (PERDURA_HOME)');
      });
      return async (command, signal) => {
        const inode = await findInode(folder);
        const child = await start({ ...command, state: folder }, signal);
        const watch = watchSize(folder, limits, (fault) => {
          onFull(new OutsideRefused(`The process of the MCP server was ended: ${describeFull(place, fault)}`, STATE_FULL));
          void child.kill();
        });
        // The command works in the folder, so that no new folder has its inode.
        const endIfDeleted = async () => {
          if ((await findInode(folder).catch(() => inode)) !== inode) void child.kill();
        };
        const looking = setInterval(() => void endIfDeleted(), LOOK_MS).unref();
        void child.exit.then(() => {
          watch.abort();
          clearInterval(looking);
        });
        return child;
      };
    },
    clear: (place) => removeFolder(toFolder(place)),
    remove: (server_id) => removeFolder(toServerFolder(server_id)),
    listServers: async () => (await readdir(parent).catch(() => [])).filter(isUuid),
  };
}
