import type { SchemaFaults } from './listing.ts';
import type { McpPackages } from './packages/cache.ts';
import type { StartConfined } from './stdio.ts';
export interface ConnectPorts {
  /** Starts a server's process under the rules of a tool call; null if such servers are not allowed. */
  startConfined: StartConfined | null;
  /** Installs the packages that `npx` and `uvx` name. Without it those commands are started as they are. */
  packages?: McpPackages;
  /** How long to wait for an installation. Default: until it ends. */
  install_ms?: number;
  /** Sends every request to a server, so it enforces the egress rules. */
  fetch?: typeof globalThis.fetch;
  /** True if `fetch` has sent the person's sign-in. Absent: there is none. */
  isSignedIn?: () => boolean;
  /** Checks the schemas that a server sends, in another process. */
  schemaFaults: SchemaFaults;
  /** The longest message of a server that is a process, in bytes; `fetch` counts those of the others. */
  message_bytes?: number;
  /** The time limit for a connection until calls can be sent. */
  connect_ms?: number;
  /** The longest time that a call may run without progress. */
  call_ms?: number;
}
