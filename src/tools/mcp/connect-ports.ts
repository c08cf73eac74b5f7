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
  /** Every request to a server goes through it, so it enforces the egress rules. */
  fetch?: typeof globalThis.fetch;
  /** Whether `fetch` has sent the person's sign-in. Absent: there is none. */
  isSignedIn?: () => boolean;
  /** Checks the schemas that a server sends, in another process. */
  schemaFaults: SchemaFaults;
  /** The longest message of a server that is a process; `fetch` counts those of the others. */
  message_bytes?: number;
  /** How long a connection may take until calls can be sent. */
  connect_ms?: number;
  /** How long a call may run without progress. */
  call_ms?: number;
}
