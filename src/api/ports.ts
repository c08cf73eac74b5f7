import type { KnowledgeSource } from '../contracts/knowledge.ts';
import type { McpSignInAnswer, McpSignInBegun, McpSignInFinished } from '../contracts/mcp-sign-ins.ts';
import type { McpPromptFill, McpPrompts, McpPromptText, McpServer, McpTest, McpToolList } from '../contracts/mcps.ts';
import type { CatalogueInUse, CatalogueUpdate } from '../contracts/model-catalogue.ts';
import type { Model } from '../contracts/models.ts';
import type { Provider, ProviderDraft } from '../contracts/providers.ts';
import type { RunBundle } from '../contracts/run-bundles.ts';
import type { StepRequest } from '../contracts/run-inspection.ts';
import type { Caller } from '../identity/caller.ts';
import type { FileReader } from '../knowledge/extract.ts';
import type { Knowledge } from '../knowledge/knowledge.ts';
import type { findModelPrice } from '../runtimes/prices.ts';
import type { ProviderCheck } from '../runtimes/provider-check.ts';
import type { WiredTask } from '../store/runs/wired-task.ts';

// The services that routes require of the rest of the installation; src/main/wiring implements them.

/** Lists models on behalf of a caller. Each call throws an error with a readable message if the provider is unreachable. */
export interface ModelLists {
  listDefaultModels(caller: Caller): Promise<Model[]>;
  listProviderModels(provider: Provider, caller: Caller): Promise<Model[]>;
  /** Asks the provider now, regardless of the cache. */
  check(provider: Provider, caller: Caller): Promise<ProviderCheck>;
  checkDraft(draft: ProviderDraft): Promise<ProviderCheck>;
}

/** The catalogue of models of the installation. */
export interface ModelCatalogueService {
  get(): Promise<CatalogueInUse>;
  /** Throws, and changes nothing, if the file cannot be fetched, is not valid, has another digest or is older. */
  update(update: CatalogueUpdate, updated_by: string): Promise<CatalogueInUse>;
  /** Forgets the update. Returns the release's catalogue, also if there was none. */
  reset(): Promise<CatalogueInUse>;
}

/** Connects to MCP servers in the caller's name. A server given here has its secrets masked; they are opened by its id. */
export interface McpProbe {
  /** True if servers that are commands are started. */
  starts_stdio: boolean;
  /** Returns the reason why a path of the host cannot be given to a server; null if it can. */
  pathRefusal(path: string): Promise<string | null>;
  /** Tests the connection. The answer reports a failure. */
  test(server: McpServer, caller: Caller): Promise<McpTest>;
  /** Asks the server for its tools, which are stored with it. Throws an upstream error when it cannot be reached. */
  refresh(server: McpServer, caller: Caller): Promise<McpToolList>;
  /** Returns the tools that the server listed last, as far as the caller may read them. Contacts no server. */
  loadTools(server: McpServer, caller: Caller): Promise<McpToolList>;
  /** Deletes what a server has kept for the caller. */
  clearState(server: McpServer, caller: Caller): Promise<void>;
  /** Deletes what a server has kept for everybody. */
  removeState(server_id: string): Promise<void>;
  /** Asks the server for its prompts. Throws an upstream error when it cannot be reached. */
  listPrompts(server: McpServer, caller: Caller): Promise<McpPrompts>;
  /** Has the server fill in a prompt. Throws its refusal as unprocessable, and an upstream error when it cannot be reached. */
  fillPrompt(server: McpServer, filled: McpPromptFill, caller: Caller): Promise<McpPromptText>;
}

/** A person's own sign-in at an MCP server. */
export interface McpSignIns {
  begin(server: McpServer, caller: Caller): Promise<McpSignInBegun>;
  /** Finishes the sign-in. Throws a conflict if it is too old or was started by somebody else. */
  finish(answer: McpSignInAnswer, caller: Caller): Promise<McpSignInFinished>;
}

export interface KnowledgeService extends Omit<Knowledge, 'probe'> {
  extract: FileReader;
  /** Throws an error with a readable message if the source cannot be searched. */
  probe(source: KnowledgeSource, caller: Caller): Promise<void>;
}

/** Finds what a model costs at a provider, and what that is known from; null: unknown. */
export type FindModelPrice = typeof findModelPrice;

/** Returns a run as one document, without the secrets of its owner's runs. */
export type BundleBuilder = (task: WiredTask, caller: Caller) => Promise<RunBundle>;

/** Returns the request that the model of a run was sent in a step, rebuilt from the record. */
export type StepRequestBuilder = (task: WiredTask, step: number, caller: Caller) => Promise<StepRequest>;
