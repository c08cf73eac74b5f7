import type { SchemaFaults } from './listing.ts';
import type { McpPackages } from './packages/cache.ts';
import type { McpState } from './state.ts';
import type { StartConfined } from './stdio.ts';

export interface ConnectPorts {
  /** Starts a server's process under the rules of a tool call; null if such servers are not allowed. */
  startConfined: StartConfined | null;
  /** Installs the packages that `npx` and `uvx` name. If absent, those commands are started unchanged. */
  packages?: McpPackages;
  /** The folders of servers that keep state; absent: they keep none. */
  state?: McpState;
  /** The principal in whose name the server is used. */
  principal?: string;
  /** Receives a sentence about what takes long, for people. */
  report?: ((sentence: string) => void) | undefined;
  /** The longest wait for an installation; by default, until it ends. */
  install_ms?: number;
  /** Sends every request to a server, so it enforces the egress rules. */
  fetch?: typeof globalThis.fetch;
  /** True if `fetch` has sent the person's sign-in; absent: they have none. */
  isSignedIn?: () => boolean;
  /** Checks the schemas that a server sends, in another process. */
  schemaFaults: SchemaFaults;
  /** The longest message, in bytes, of a server that is a process; for other servers, `fetch` has the limit. */
  message_bytes?: number;
  /** The time limit for a connection until calls can be sent; absent: that of the server. */
  connect_ms?: number;
  /** How long a server is asked which version of the protocol it speaks; then it is taken for an older one. */
  discover_ms?: number;
  /** The longest time that a call may run without progress. */
  call_ms?: number;
}
