// Generated from src/contracts by `npm run client-types`; do not edit.

/** An event of AG-UI, version 1.0 */
export type AgUiEvent = {
  type: string;
  [name: string]: unknown;
};

export type AgUiRunInput = {
  threadId: string;
  /** The id that the client gives to this request */
  runId: string;
  /** Only the last message of the user and the results after it are read: Perdura has the others */
  messages: {
    id: string;
    role: string;
    content?: unknown;
    [name: string]: unknown;
  }[];
  /** Tools that the client executes */
  tools?: {
    name: string;
    description?: string;
    parameters?: unknown;
    [name: string]: unknown;
  }[];
  context?: {
    description: string;
    value: string;
    [name: string]: unknown;
  }[];
  state?: unknown;
  /** Of these, `when_busy` is used: `enqueue`, `steer`, `interrupt`, `fork` or `reject`, if a turn is in progress when the message comes */
  forwardedProps?: unknown;
  /** The answers to the interrupts of the run before */
  resume?: {
    interruptId: string;
    status: 'resolved' | 'cancelled';
    payload?: unknown;
    [name: string]: unknown;
  }[];
  [name: string]: unknown;
};

export type Agent = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  name: string;
  description: string;
  system_prompt: string;
  /** Null: the provider's default model */
  model: string | null;
  mcp_server_ids: string[];
  mcp_server_tags: string[];
  custom_tool_ids: string[];
  /** Names from GET /api/builtin-tools */
  builtin_tools: string[];
  tool_definitions: (
    | {
        type: 'function';
        function: FunctionOfToolOutput;
        [name: string]: unknown;
      }
    | {
        type:
          | 'web_search_20250305'
          | 'web_search_20260209'
          | 'web_search_20260318'
          | 'web_fetch_20250910'
          | 'web_fetch_20260209'
          | 'web_fetch_20260309'
          | 'web_fetch_20260318'
          | 'code_execution_20250522'
          | 'code_execution_20250825'
          | 'code_execution_20260120'
          | 'code_execution_20260521';
        name: string;
        [name: string]: unknown;
      }
  )[];
  knowledge_source_ids: string[];
  knowledge_tags: string[];
  /** Names of tools whose calls wait for a person. A name guards every tool of the agent that it fits, stays with these tools when they are renamed, and is shown as they are called now. 422 for a name that fits none */
  approval_tools: string[];
  /** Effects of tools whose calls wait for a person, whatever the tools are called */
  approve_effects: ('read' | 'idempotent' | 'write')[];
  required_mcp_servers: string[];
  /** Null: the default runtime */
  provider_id: string | null;
  fallbacks: StoredFallbackOutput[];
  /** Minutes after which a run asks its own model again; 0: at its next step; null: it stays with the fallback to its end. Counts with the `fallbacks` next to it */
  fallback_minutes: number | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type AgentCreate = {
  name: string;
  description?: string;
  system_prompt?: string;
  /** Null: the provider's default model */
  model?: string | null;
  mcp_server_ids?: string[];
  mcp_server_tags?: string[];
  custom_tool_ids?: string[];
  /** Names from GET /api/builtin-tools */
  builtin_tools?: string[];
  tool_definitions?: (
    | {
        type?: 'function';
        function: FunctionOfTool;
        [name: string]: unknown;
      }
    | {
        type:
          | 'web_search_20250305'
          | 'web_search_20260209'
          | 'web_search_20260318'
          | 'web_fetch_20250910'
          | 'web_fetch_20260209'
          | 'web_fetch_20260309'
          | 'web_fetch_20260318'
          | 'code_execution_20250522'
          | 'code_execution_20250825'
          | 'code_execution_20260120'
          | 'code_execution_20260521';
        name: string;
        [name: string]: unknown;
      }
  )[];
  knowledge_source_ids?: string[];
  knowledge_tags?: string[];
  /** Names of tools whose calls wait for a person. A name guards every tool of the agent that it fits, stays with these tools when they are renamed, and is shown as they are called now. 422 for a name that fits none */
  approval_tools?: string[];
  /** Effects of tools whose calls wait for a person, whatever the tools are called */
  approve_effects?: ('read' | 'idempotent' | 'write')[];
  /** MCP servers the run cannot do without: if one is unreachable, the run fails */
  required_mcp_servers?: string[];
  /** Null: the default runtime */
  provider_id?: string | null;
  /** Models that are asked in this order when a run's own model fails. An agent's list replaces that of its provider; the lists of the fallbacks themselves do not count. Empty: none */
  fallbacks?: Fallback[];
  /** Minutes after which a run asks its own model again; 0: at its next step; null: it stays with the fallback to its end. Counts with the `fallbacks` next to it */
  fallback_minutes?: number | null;
};

export type AgentExportBundle = {
  version: string;
  exported_at: string;
  resource_type: 'agent';
  items: ExportedAgentOutput[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** Items as an export bundle holds them */
export type AgentImport = {
  version?: string;
  exported_at?: string;
  resource_type?: 'agent';
  items: ExportedAgent[];
};

export type AgentUpdate = {
  name?: string;
  description?: string;
  system_prompt?: string;
  model?: string | null;
  mcp_server_ids?: string[];
  mcp_server_tags?: string[];
  custom_tool_ids?: string[];
  builtin_tools?: string[];
  tool_definitions?: (
    | {
        type?: 'function';
        function: FunctionOfTool;
        [name: string]: unknown;
      }
    | {
        type:
          | 'web_search_20250305'
          | 'web_search_20260209'
          | 'web_search_20260318'
          | 'web_fetch_20250910'
          | 'web_fetch_20260209'
          | 'web_fetch_20260309'
          | 'web_fetch_20260318'
          | 'code_execution_20250522'
          | 'code_execution_20250825'
          | 'code_execution_20260120'
          | 'code_execution_20260521';
        name: string;
        [name: string]: unknown;
      }
  )[];
  knowledge_source_ids?: string[];
  knowledge_tags?: string[];
  approval_tools?: string[];
  approve_effects?: ('read' | 'idempotent' | 'write')[];
  required_mcp_servers?: string[];
  provider_id?: string | null;
  fallbacks?: Fallback[];
  fallback_minutes?: number | null;
};

export type Alert = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  name: string;
  /** failure_rate: percent of the completed and failed runs that failed; spend: US dollars; waiting: minutes that a run has waited for a person; provider_errors: failed requests to models; backlog: runs that wait for an earlier run of their workflow; budget: percent of a budget that is spent in its present period, 100 also while runs wait because too little is left */
  measure: 'failure_rate' | 'spend' | 'waiting' | 'provider_errors' | 'backlog' | 'budget';
  /** The alert fires when the measure reaches it */
  threshold: number;
  /** The time that failure_rate, spend and provider_errors look back; the others look at the present */
  window_minutes: number;
  /** Until this many runs have ended in the window, failure_rate counts as 0 */
  min_runs: number;
  /** Null: all your workflows */
  workflow_id: string | null;
  /** The budget that the measure `budget` watches; no other measure has one */
  budget_id: string | null;
  /** Receives a message when the alert fires or is resolved */
  webhook_url: string | null;
  /** Further places that receive a message when the alert fires or is resolved */
  channels: AlertChannelOutput[];
  enabled: boolean;
  /** Until then nothing is sent; the history continues */
  muted_until: string | null;
  state: 'ok' | 'firing';
  /** ISO 8601, UTC */
  state_since: string;
  /** What was measured last */
  last_value: number | null;
  measured_at: string | null;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type AlertChannel =
  | {
      /** A signed message, as to `webhook_url` */
      type: 'webhook';
      /** Replies show only its host, since it may hold a key; send it back as it is shown to keep it */
      url: string;
    }
  | {
      /** An incoming webhook of Slack */
      type: 'slack';
      /** Replies show only its host, since it may hold a key; send it back as it is shown to keep it */
      url: string;
    }
  | {
      /** A webhook of a workflow in Microsoft Teams */
      type: 'teams';
      /** Replies show only its host, since it may hold a key; send it back as it is shown to keep it */
      url: string;
    }
  | {
      /** A webhook of a channel in Discord */
      type: 'discord';
      /** Replies show only its host, since it may hold a key; send it back as it is shown to keep it */
      url: string;
    }
  | {
      /** An e-mail to each recipient. The operator decides which ones are allowed */
      type: 'email';
      /** The recipients */
      to: string[];
    };

export type AlertChannelOutput =
  | {
      /** A signed message, as to `webhook_url` */
      type: 'webhook';
      /** Replies show only its host, since it may hold a key; send it back as it is shown to keep it */
      url: string;
    }
  | {
      /** An incoming webhook of Slack */
      type: 'slack';
      /** Replies show only its host, since it may hold a key; send it back as it is shown to keep it */
      url: string;
    }
  | {
      /** A webhook of a workflow in Microsoft Teams */
      type: 'teams';
      /** Replies show only its host, since it may hold a key; send it back as it is shown to keep it */
      url: string;
    }
  | {
      /** A webhook of a channel in Discord */
      type: 'discord';
      /** Replies show only its host, since it may hold a key; send it back as it is shown to keep it */
      url: string;
    }
  | {
      /** An e-mail to each recipient. The operator decides which ones are allowed */
      type: 'email';
      /** The recipients */
      to: string[];
    };

export type AlertCreate = {
  name: string;
  /** failure_rate: percent of the completed and failed runs that failed; spend: US dollars; waiting: minutes that a run has waited for a person; provider_errors: failed requests to models; backlog: runs that wait for an earlier run of their workflow; budget: percent of a budget that is spent in its present period, 100 also while runs wait because too little is left */
  measure: 'failure_rate' | 'spend' | 'waiting' | 'provider_errors' | 'backlog' | 'budget';
  /** The alert fires when the measure reaches it */
  threshold: number;
  /** The time that failure_rate, spend and provider_errors look back; the others look at the present */
  window_minutes?: number;
  /** Until this many runs have ended in the window, failure_rate counts as 0 */
  min_runs?: number;
  /** Null: all your workflows */
  workflow_id?: string | null;
  /** The budget that the measure `budget` watches; no other measure has one */
  budget_id?: string | null;
  /** Receives a message when the alert fires or is resolved */
  webhook_url?: string | null;
  /** Further places that receive a message when the alert fires or is resolved */
  channels?: AlertChannel[];
  enabled?: boolean;
  /** Until then nothing is sent; the history continues */
  muted_until?: string | null;
};

export type AlertEvent = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** firing: it fired; ok: it was resolved */
  state: 'ok' | 'firing';
  value: number;
  threshold: number;
  muted: boolean;
  /** ISO 8601, UTC */
  at: string;
  /** pending: more attempts follow; failed: given up; null: nothing was sent */
  delivery_status: 'pending' | 'delivered' | 'failed' | null;
  delivery_attempts: number;
  /** Of the last attempt */
  delivery_error: string | null;
  /** One for each address. `delivery_status` and the like sum them up: pending or failed if one of them is */
  deliveries: {
    channel: 'webhook' | 'slack' | 'teams' | 'discord' | 'email';
    /** The host or the recipient */
    to: string;
    status: 'pending' | 'delivered' | 'failed';
    attempts: number;
    /** Of the last attempt */
    error: string | null;
  }[];
};

export type AlertTest = {
  results: {
    channel: 'webhook' | 'slack' | 'teams' | 'discord' | 'email';
    /** The host or the recipient */
    to: string;
    delivered: boolean;
    error: string | null;
  }[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type AlertUpdate = {
  name?: string;
  /** failure_rate: percent of the completed and failed runs that failed; spend: US dollars; waiting: minutes that a run has waited for a person; provider_errors: failed requests to models; backlog: runs that wait for an earlier run of their workflow; budget: percent of a budget that is spent in its present period, 100 also while runs wait because too little is left */
  measure?: 'failure_rate' | 'spend' | 'waiting' | 'provider_errors' | 'backlog' | 'budget';
  /** The alert fires when the measure reaches it */
  threshold?: number;
  window_minutes?: number;
  min_runs?: number;
  workflow_id?: string | null;
  budget_id?: string | null;
  webhook_url?: string | null;
  channels?: AlertChannel[];
  enabled?: boolean;
  muted_until?: string | null;
};

export type AnswerRequest = {
  /** The question that is answered: the call may have asked another one since */
  question_id: string;
  action: 'accept' | 'decline' | 'cancel';
  /** Of `accept`: the fields by name */
  content?: {
    [name: string]: string | number | boolean | string[];
  };
};

export type ApprovalDecision = {
  decision: 'approve' | 'deny';
  message?: string;
};

export type AskedModel = {
  /** Null: the default runtime */
  provider_id: string | null;
  provider: string | null;
  /** Null: the default of the provider's endpoint */
  model: string | null;
};

/** A file that a run is given */
export type Attachment = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  name: string;
  /** Determined by the content */
  media_type: string;
  /** Bytes */
  size: number;
  /** Of the content, in hexadecimal digits */
  sha256: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type AttachmentOrder = {
  /** Of a file that you uploaded with `POST /api/attachments` */
  id?: string;
  /** Of a file within the request */
  name?: string;
  /** Has to agree with the content; default: that of `data` */
  media_type?: string;
  /** Instead of `id`: the file as a data URL in base64 */
  data?: string;
};

export type AuditEntry = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** ISO 8601, UTC */
  at: string;
  /** Who asked, as `provider:subject` */
  principal: string;
  login: string;
  /** The service key that they used; null: their own access token */
  service_key_id: string | null;
  /** The `operationId` in /openapi.json */
  operation: string;
  /** read: read and search; run: start, steer and halt runs, chat, test; write: create, change and delete; keys: make and delete service keys; audit: read the audit */
  scope: 'read' | 'run' | 'write' | 'keys' | 'audit';
  /** Of the request, without its query */
  path: string;
  /** The collection in the path */
  resource_type: string;
  /** The first id in the path */
  resource_id: string | null;
  /** The id in the reply: of what was created, or of the run that was started */
  made_id: string | null;
  /** Of the reply; refused requests are recorded, too */
  status: number;
  request_id: string;
  /** Where the request came from (see TRUST_PROXY) */
  address: string;
};

export type BackfilledSchedule = {
  /** Each due time of the range, oldest first */
  fires: ScheduleFire[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** The most that one run may use. It is checked before each request to a model */
export type Budget = {
  max_cost_usd?: number | null;
  max_tokens?: number | null;
  max_seconds?: number | null;
  /** `wait`: the run waits until someone raises its budget. `halt`: it ends, and keeps what it has */
  on_exhausted?: 'wait' | 'halt';
};

/** The most that one run may use. It is checked before each request to a model */
export type BudgetOutput = {
  max_cost_usd: number | null;
  max_tokens: number | null;
  max_seconds: number | null;
  /** `wait`: the run waits until someone raises its budget. `halt`: it ends, and keeps what it has */
  on_exhausted: 'wait' | 'halt';
};

export type BuiltinTool = {
  name: string;
  description: string;
  effect: string;
  parameters: {
    [name: string]: unknown;
  };
};

export type BundleImportResult = {
  skills: ImportResult;
  agents: ImportResult;
  workflows: ImportResult;
  knowledge_sources: ImportResult;
  guardrails: ImportResult;
  scheduled_agents: ImportResult;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** What the tool of a call in progress asks a person; null if it waits for no answer */
export type CallQuestion = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  message: string;
  /** Who gets the answer */
  asked_by: {
    /** The name of the MCP server */
    server: string;
    /** Where it is; null: it is a command on a worker */
    host: string | null;
  };
  schema: {
    properties: {
      [name: string]: {
        type: string;
        title?: string;
        description?: string;
        [name: string]: unknown;
      };
    };
    required?: string[];
  };
  /** ISO 8601, UTC */
  asked_at: string;
  /** When the server gets `cancel`, if nobody has answered */
  expires_at: string;
};

export type CatalogueInUse = {
  /** `release`: the one that this version of Perdura brings */
  from: 'release' | 'update';
  /** The day of the newest entry */
  as_of: string;
  /** SHA-256 of the file; null for the release's */
  digest: string | null;
  /** The name or the address of the file; null for the release's */
  source: string | null;
  updated_by: string | null;
  updated_at: string | null;
  models: CatalogueModel[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type CatalogueModel = {
  id: string;
  /** Other names of the same model, such as dated ones */
  aliases: string[];
  /** The vendor that offers it under its names, such as `openai` */
  vendor: string;
  /** US dollars per million tokens at its vendor */
  price: ListPrice | null;
  /** The tokens that it can read */
  context_window: number | null;
  /** The most tokens of one answer */
  max_output: number | null;
  /** The values of `reasoning_effort` that it takes; empty: none */
  efforts: string[] | null;
  /** What it reads and writes */
  modalities: {
    input: string[];
    output: string[];
  };
  /** Whether it calls tools */
  tools: boolean | null;
  /** Whether it keeps to a JSON Schema */
  structured_output: boolean | null;
  /** The day from which its vendor advises against it */
  deprecated_on: string | null;
  /** The day on which its vendor stops answering for it */
  ends_on: string | null;
  /** The model that its vendor recommends instead */
  successor: string | null;
  /** Where these facts come from */
  source: string;
  /** The day on which the source had them */
  as_of: string;
};

export type CatalogueUpdate = {
  /** The file, as text; instead of `url`. Its digest is that of these characters in UTF-8 */
  text?: string;
  /** Where to fetch the file, by the rules for addresses */
  url?: string;
  /** The name of the file that `text` is, shown as the source */
  file_name?: string;
  /** The digest that the file must have */
  digest?: string;
  /** Use it although it is older than the one in use */
  force?: boolean;
};

/** What this run has in the fields that `changes` of a fork can replace */
export type ChangeableFields = {
  system_prompt: string;
  provider_id: string | null;
  model: string | null;
  custom_tool_ids: string[];
  builtin_tools: string[];
  mcp_server_ids: string[];
  output_format: string;
  reasoning_effort: string | null;
  temperature: number | null;
  top_p: number | null;
  max_output_tokens: number | null;
  stop: string[];
  parallel_tool_calls: boolean | null;
  service_tier: 'auto' | 'default' | 'flex' | 'scale' | 'priority' | null;
  verbosity: 'low' | 'medium' | 'high' | null;
};

/** The `data` line of a frame; the `id` line counts from 1 */
export type ChatEvent =
  | {
      type: 'session';
      /** Identifier issued by the service (UUIDv7) */
      session_id: string;
      warnings?: Warning[];
    }
  | {
      type: 'delta';
      content: string;
    }
  | {
      type: 'done';
      usage: ChatUsage;
      /** Identifier issued by the service (UUIDv7) */
      message_id: string;
      /** The reply ended at the output limit of the model */
      truncated?: boolean;
      /** The whole reply, if the deltas do not make it up: the connection to the model broke, and its second answer was another */
      content?: string;
    }
  | {
      type: 'error';
      message: string;
    };

export type ChatMessage = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  role: 'user' | 'assistant';
  content: string;
  usage: ChatUsage | null;
  /** The reply ended at the output limit of the model */
  truncated: boolean;
  /** Of a user message: why it got no reply, or no whole one; null: it has one, or will */
  error: string | null;
  /** ISO 8601, UTC */
  created_at: string;
};

export type ChatReply = {
  /** The user message that is being replied to */
  question_id: string;
  /** The text so far */
  content: string;
};

export type ChatRequest = {
  message: string;
  /** Omit to start a new session */
  session_id?: string;
  /** False: the agent answers without its tools */
  tools?: boolean;
};

export type ChatSession = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** Identifier issued by the service (UUIDv7) */
  agent_id: string;
  title: string;
  message_count: number;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
};

export type ChatSessionDetail = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** Identifier issued by the service (UUIDv7) */
  agent_id: string;
  title: string;
  message_count: number;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  messages: ChatMessage[];
  /** The reply in progress; null: there is none */
  reply: ChatReply | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type ChatStop = {
  status: 'stop_requested';
  /** Identifier issued by the service (UUIDv7) */
  session_id: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type ChatUsage = {
  prompt_tokens: number;
  completion_tokens: number;
  /** True: the endpoint did not report a part, which is an estimate */
  estimated?: boolean;
};

export type ContinuityDecision = {
  decision: 'resume' | 'fail';
};

export type CustomTool = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  name: string;
  description: string;
  source_code: string;
  parameters_schema: {
    [name: string]: unknown;
  };
  tags: string[];
  is_enabled: boolean;
  /** Only when the tool declares variables */
  env_config?: EnvConfigOutput;
  effect: 'read' | 'idempotent' | 'write';
  network: boolean;
  is_plugin: boolean;
  /** Stored tokens it names that you cannot use: they do not exist, or are not yours. Runs refuse it */
  needs?: string[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type CustomToolCreate = {
  name: string;
  description?: string;
  source_code: string;
  /** Null: inferred from the type hints */
  parameters_schema?: {
    [name: string]: unknown;
  } | null;
  tags?: string[];
  is_enabled?: boolean;
  env_config?: EnvConfig;
  /** Left out: the file's EFFECT, or write */
  effect?: 'read' | 'idempotent' | 'write';
  /** Left out: the file's NETWORK, or false */
  network?: boolean;
};

export type CustomToolUpdate = {
  name?: string;
  description?: string;
  source_code?: string;
  parameters_schema?: {
    [name: string]: unknown;
  } | null;
  tags?: string[];
  is_enabled?: boolean;
  env_config?: EnvConfig;
  /** Left out: the file's EFFECT, or write */
  effect?: 'read' | 'idempotent' | 'write';
  /** Left out: the file's NETWORK, or false */
  network?: boolean;
};

/** Prompts with their expected answers; private to its owner */
export type Dataset = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  name: string;
  description: string;
  item_count: number;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** The document of `GET /api/tasks/{id}/bundle` */
export type DatasetBundle = {
  format: 'perdura-run';
  version: 1;
  task: {
    prompt: string;
    [name: string]: unknown;
  };
  steps: {
    tool_calls: {
      name: string;
      arguments: string;
      status: string;
      failed: boolean | null;
      result: string | null;
      answered_by: string | null;
      [name: string]: unknown;
    }[];
    [name: string]: unknown;
  }[];
  end: {
    response: unknown;
    [name: string]: unknown;
  };
  [name: string]: unknown;
};

export type DatasetCreate = {
  name: string;
  description?: string;
};

/** It never changes: to correct one, delete it and add another */
export type DatasetItem = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** Identifier issued by the service (UUIDv7) */
  dataset_id: string;
  prompt: string;
  /** The expected answer: a JSON value, or text for markdown. null: there is none */
  expected: unknown;
  /** Tool calls with their results, which answer equal calls of an evaluation */
  calls: {
    name: string;
    arguments: string;
    content: string;
    failed: boolean;
  }[];
  /** The run it was taken from */
  source_task_id: string | null;
  /** ISO 8601, UTC */
  created_at: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type DatasetItemCreate = {
  /** Left out with `task_id`: the run's */
  prompt?: string;
  /** Left out with `task_id`: the run's answer */
  expected?: unknown;
  /** One of your runs, to take the prompt, the answer and the recorded tool results from */
  task_id?: string;
};

export type DatasetUpdate = {
  name?: string;
  description?: string;
};

export type DueTimes = {
  /** Oldest first; fewer than asked for if the schedule ends */
  due_times: string[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** A key made with a key that was rotated; it ends with the replaced one */
export type EndingKey = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  name: string;
  /** ISO 8601, UTC */
  expires_at: string;
};

export type EnvConfig = {
  [name: string]: {
    token_name?: string | null;
    description?: string;
  };
};

export type EnvConfigOutput = {
  [name: string]: {
    token_name: string | null;
    description?: string;
  };
};

export type EnvMapping = {
  tool_id: string;
  tool_name: string;
  env_mapping: {
    [name: string]: string | null;
  };
  available_tokens: string[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type EnvMappingUpdate = {
  env_mapping: {
    [name: string]: string | null;
  };
};

export type ErrorGroup = {
  error_code: string;
  runs: number;
  /** Identifier issued by the service (UUIDv7) */
  last_task_id: string;
  last_error: string | null;
  /** ISO 8601, UTC */
  last_at: string;
};

/** A version of a workflow, run over all items of a dataset */
export type Evaluation = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** Identifier issued by the service (UUIDv7) */
  dataset_id: string;
  /** Identifier issued by the service (UUIDv7) */
  workflow_id: string;
  workflow_title: string | null;
  /** The version */
  definition_hash: string;
  model: string | null;
  graders: GraderOutput[];
  effects: 'recorded' | 'stub';
  parallel: number;
  baseline_id: string | null;
  status: 'running' | 'completed' | 'halted';
  items: number;
  passed: number;
  failed: number;
  /** Items whose run did not complete, or that a grader could not grade */
  errors: number;
  /** passed / items; null unless the evaluation is completed */
  pass_rate: number | null;
  /** ISO 8601, UTC */
  created_at: string;
  completed_at: string | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type EvaluationCreate = {
  /** Identifier issued by the service (UUIDv7) */
  workflow_id: string;
  /** A version of the workflow: the `definition_hash` of the version, or of one of its runs. Left out: the workflow as it is now */
  definition_hash?: string;
  /** An item passes if all of them accept the answer */
  graders: Grader[];
  /** `recorded`: a call that the item has on record gets the recorded result; any other `write` call is refused, and any other call is executed. `stub`: no tool is called */
  effects?: 'recorded' | 'stub';
  /** Runs at once */
  parallel?: number;
  /** The evaluation of this dataset to find regressions against. Left out: the last completed one of the same workflow */
  baseline_id?: string;
};

export type EvaluationDetail = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** Identifier issued by the service (UUIDv7) */
  dataset_id: string;
  /** Identifier issued by the service (UUIDv7) */
  workflow_id: string;
  workflow_title: string | null;
  /** The version */
  definition_hash: string;
  model: string | null;
  graders: GraderOutput[];
  effects: 'recorded' | 'stub';
  parallel: number;
  baseline_id: string | null;
  status: 'running' | 'completed' | 'halted';
  items: number;
  passed: number;
  failed: number;
  /** Items whose run did not complete, or that a grader could not grade */
  errors: number;
  /** passed / items; null unless the evaluation is completed */
  pass_rate: number | null;
  /** ISO 8601, UTC */
  created_at: string;
  completed_at: string | null;
  regressions: Regression[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type EvaluationHaltRequested = {
  status: 'halt_requested';
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type EvaluationResult = {
  /** Identifier issued by the service (UUIDv7) */
  item_id: string;
  prompt: string;
  expected: unknown;
  /** The run */
  task_id: string | null;
  /** The run's answer; null if it has none, or was deleted */
  answer: unknown;
  status: 'pending' | 'running' | 'passed' | 'failed' | 'error' | 'halted';
  grades: {
    grader: string;
    passed: boolean;
    reason: string | null;
    /** Of a `model` grader with `pass_at` */
    score?: number;
    /** The run of the judge */
    task_id?: string;
  }[];
  /** Why the item has neither passed nor failed */
  error: string | null;
  ended_at: string | null;
};

export type ExactGrader = {
  /** The answer equals the item's `expected`; space around texts does not count */
  type: 'exact';
  ignore_case?: boolean;
};

export type ExactGraderOutput = {
  /** The answer equals the item's `expected`; space around texts does not count */
  type: 'exact';
  ignore_case: boolean;
};

export type ExportedAgent = {
  /** Of the exported record. An import gives it to the new record if it is free, so that references hold. References of the same bundle to an id that cannot be one here lead to the new record */
  id?: string;
  name: string;
  description?: string;
  system_prompt?: string;
  /** Null: the provider's default model */
  model?: string | null;
  mcp_server_ids?: string[];
  mcp_server_tags?: string[];
  custom_tool_ids?: string[];
  /** Names from GET /api/builtin-tools */
  builtin_tools?: string[];
  tool_definitions?: (
    | {
        type?: 'function';
        function: FunctionOfTool;
        [name: string]: unknown;
      }
    | {
        type:
          | 'web_search_20250305'
          | 'web_search_20260209'
          | 'web_search_20260318'
          | 'web_fetch_20250910'
          | 'web_fetch_20260209'
          | 'web_fetch_20260309'
          | 'web_fetch_20260318'
          | 'code_execution_20250522'
          | 'code_execution_20250825'
          | 'code_execution_20260120'
          | 'code_execution_20260521';
        name: string;
        [name: string]: unknown;
      }
  )[];
  knowledge_source_ids?: string[];
  knowledge_tags?: string[];
  /** Names of tools whose calls wait for a person. A name guards every tool of the agent that it fits, stays with these tools when they are renamed, and is shown as they are called now. 422 for a name that fits none */
  approval_tools?: string[];
  /** Effects of tools whose calls wait for a person, whatever the tools are called */
  approve_effects?: ('read' | 'idempotent' | 'write')[];
  required_mcp_servers?: string[];
  provider_id?: string | null;
  fallbacks?: StoredFallback[];
  /** Minutes after which a run asks its own model again; 0: at its next step; null: it stays with the fallback to its end. Counts with the `fallbacks` next to it */
  fallback_minutes?: number | null;
};

export type ExportedAgentOutput = {
  /** Of the exported record. An import gives it to the new record if it is free, so that references hold. References of the same bundle to an id that cannot be one here lead to the new record */
  id?: string;
  name: string;
  description: string;
  system_prompt: string;
  /** Null: the provider's default model */
  model: string | null;
  mcp_server_ids: string[];
  mcp_server_tags: string[];
  custom_tool_ids: string[];
  /** Names from GET /api/builtin-tools */
  builtin_tools: string[];
  tool_definitions: (
    | {
        type: 'function';
        function: FunctionOfToolOutput;
        [name: string]: unknown;
      }
    | {
        type:
          | 'web_search_20250305'
          | 'web_search_20260209'
          | 'web_search_20260318'
          | 'web_fetch_20250910'
          | 'web_fetch_20260209'
          | 'web_fetch_20260309'
          | 'web_fetch_20260318'
          | 'code_execution_20250522'
          | 'code_execution_20250825'
          | 'code_execution_20260120'
          | 'code_execution_20260521';
        name: string;
        [name: string]: unknown;
      }
  )[];
  knowledge_source_ids: string[];
  knowledge_tags: string[];
  /** Names of tools whose calls wait for a person. A name guards every tool of the agent that it fits, stays with these tools when they are renamed, and is shown as they are called now. 422 for a name that fits none */
  approval_tools: string[];
  /** Effects of tools whose calls wait for a person, whatever the tools are called */
  approve_effects: ('read' | 'idempotent' | 'write')[];
  required_mcp_servers: string[];
  provider_id: string | null;
  fallbacks: StoredFallbackOutput[];
  /** Minutes after which a run asks its own model again; 0: at its next step; null: it stays with the fallback to its end. Counts with the `fallbacks` next to it */
  fallback_minutes: number | null;
};

export type ExportedGuardrail = {
  /** Of the exported record. An import gives it to the new record if it is free, so that references hold. References of the same bundle to an id that cannot be one here lead to the new record */
  id?: string;
  name: string;
  description?: string;
  /** Fixed once created */
  guardrail_type: 'prompt' | 'request' | 'output';
  enabled?: boolean;
  tags?: string[];
  /** Fields of the configuration of this type */
  config?: {
    [name: string]: unknown;
  };
};

export type ExportedGuardrailOutput = {
  /** Of the exported record. An import gives it to the new record if it is free, so that references hold. References of the same bundle to an id that cannot be one here lead to the new record */
  id?: string;
  name: string;
  description: string;
  /** Fixed once created */
  guardrail_type: 'prompt' | 'request' | 'output';
  enabled: boolean;
  tags: string[];
  /** Fields of the configuration of this type */
  config: {
    [name: string]: unknown;
  };
};

/** The source without its items; secrets are masked */
export type ExportedKnowledgeSource = {
  /** Of the exported record. An import gives it to the new record if it is free, so that references hold. References of the same bundle to an id that cannot be one here lead to the new record */
  id?: string;
  name: string;
  description?: string;
  source_type: string;
  /** vector_db: url, collection, api_key, text_field. pgvector: url, table, text_column, embedding_column. builtin: nothing. A field that the type does not read, or lacks, is a warning. Values may hold {{token:NAME}}; secret values are returned masked. */
  connection_config?: {
    [name: string]: unknown;
  };
  tags?: string[];
};

/** The source without its items; secrets are masked */
export type ExportedKnowledgeSourceOutput = {
  /** Of the exported record. An import gives it to the new record if it is free, so that references hold. References of the same bundle to an id that cannot be one here lead to the new record */
  id?: string;
  name: string;
  description: string;
  source_type: string;
  /** vector_db: url, collection, api_key, text_field. pgvector: url, table, text_column, embedding_column. builtin: nothing. A field that the type does not read, or lacks, is a warning. Values may hold {{token:NAME}}; secret values are returned masked. */
  connection_config: {
    [name: string]: unknown;
  };
  tags: string[];
};

/** An imported schedule is disabled until its owner enables it */
export type ExportedScheduledAgent = {
  /** Of the exported record. An import gives it to the new record if it is free, so that references hold. References of the same bundle to an id that cannot be one here lead to the new record */
  id?: string;
  name: string;
  workflow_id: string;
  /** Sent at each run */
  prompt: string;
  /** With `interval_unit`: the time between two runs. Either an interval or `cron` is required */
  interval_value?: number | null;
  interval_unit?: 'minutes' | 'hours' | 'days' | 'weeks' | null;
  /** Five fields: minute, hour, day of month, month, day of week; or a name such as `@daily` */
  cron?: string | null;
  /** IANA name of the time zone in which `cron` is read */
  time_zone?: string;
  /** The first run, or with `cron` the time before which there is none; left out: now */
  start_at?: string;
  /** No run after this time */
  end_at?: string | null;
  /** Each run starts up to this much later, by chance; less than the time between two runs */
  jitter_seconds?: number;
  /** What to do with a run that is due while the previous one is still running. `enqueue_one`: it waits, unless one waits already */
  overlap_policy?: 'skip' | 'enqueue_one' | 'enqueue' | 'interrupt';
  /** Disable the schedule after this many failed runs in a row; null: never */
  pause_after_failures?: number | null;
  /** How late a run may start after the service was down; a later one counts as missed */
  catchup_window_seconds?: number;
};

/** An imported schedule is disabled until its owner enables it */
export type ExportedScheduledAgentOutput = {
  /** Of the exported record. An import gives it to the new record if it is free, so that references hold. References of the same bundle to an id that cannot be one here lead to the new record */
  id?: string;
  name: string;
  workflow_id: string;
  /** Sent at each run */
  prompt: string;
  /** With `interval_unit`: the time between two runs. Either an interval or `cron` is required */
  interval_value: number | null;
  interval_unit: 'minutes' | 'hours' | 'days' | 'weeks' | null;
  /** Five fields: minute, hour, day of month, month, day of week; or a name such as `@daily` */
  cron: string | null;
  /** IANA name of the time zone in which `cron` is read */
  time_zone: string;
  /** The first run, or with `cron` the time before which there is none; left out: now */
  start_at?: string;
  /** No run after this time */
  end_at: string | null;
  /** Each run starts up to this much later, by chance; less than the time between two runs */
  jitter_seconds: number;
  /** What to do with a run that is due while the previous one is still running. `enqueue_one`: it waits, unless one waits already */
  overlap_policy: 'skip' | 'enqueue_one' | 'enqueue' | 'interrupt';
  /** Disable the schedule after this many failed runs in a row; null: never */
  pause_after_failures: number | null;
  /** How late a run may start after the service was down; a later one counts as missed */
  catchup_window_seconds: number;
};

export type ExportedSkill = {
  /** Of the exported record. An import gives it to the new record if it is free, so that references hold. References of the same bundle to an id that cannot be one here lead to the new record */
  id?: string;
  name: string;
  description?: string;
  /** Added to the instructions of a run */
  instructions: string;
  tags?: string[];
};

export type ExportedSkillOutput = {
  /** Of the exported record. An import gives it to the new record if it is free, so that references hold. References of the same bundle to an id that cannot be one here lead to the new record */
  id?: string;
  name: string;
  description: string;
  /** Added to the instructions of a run */
  instructions: string;
  tags: string[];
};

export type ExportedWorkflow = {
  /** Of the exported record. An import gives it to the new record if it is free, so that references hold. References of the same bundle to an id that cannot be one here lead to the new record */
  id?: string;
  agent_id: string;
  /** Null: the agent's, then the provider's */
  model?: string | null;
  title?: string | null;
  /** Tool calls that a run may make; each is one turn */
  max_turns?: number;
  skill_ids?: string[];
  skill_tags?: string[];
  output_format?: 'json' | 'markdown';
  /** JSON Schema (draft 2020-12) of the final answer, which is then JSON whatever `output_format` is. An answer that does not fit is sent back to the model once; if the next one does not fit either, the run fails with `output_invalid` */
  output_schema?: {
    [name: string]: unknown;
  } | null;
  reasoning_effort?: string | null;
  /** Null: the model's default. Anthropic takes at most 1; reasoning models refuse it */
  temperature?: number | null;
  /** Null: the model's default */
  top_p?: number | null;
  /** Of one answer, reasoning included. Null: the model's default */
  max_output_tokens?: number | null;
  /** Texts at which the model stops. OpenAI takes at most 4 */
  stop?: string[];
  /** Whether the model may ask for several tool calls at once. Null: the model's default */
  parallel_tool_calls?: boolean | null;
  /** How soon the vendor answers, and at which price. Null: the vendor's default. Sent to OpenAI and Azure */
  service_tier?: 'auto' | 'default' | 'flex' | 'scale' | 'priority' | null;
  /** How long the answers are. Null: the model's default. Sent to GPT-5 and later at OpenAI and Azure */
  verbosity?: 'low' | 'medium' | 'high' | null;
  /** When the conversation of a run fills the model's context window, a summary replaces its older part. Off: the run fails at that point */
  infinite_session?: boolean;
  /** Runs neither read nor store memories */
  bypass_memory?: boolean;
  /** After a completed run, the model names at most three lasting facts, and later runs are given them */
  auto_memory?: boolean;
  /** The model is given lists of records in tool results as tab-separated values (TSV) if that is shorter than JSON */
  tsv_tool_results?: boolean;
  /** Filler words are removed from the instructions, and the model is asked for a terse answer, to save tokens */
  caveman?: boolean;
  guardrail_ids?: string[];
  guardrail_tags?: string[];
  /** Checked out into the run's workspace before its first step */
  repo_url?: string | null;
  repo_branch?: string | null;
  repo_token_name?: string | null;
  webhook_url?: string | null;
  error_webhook_url?: string | null;
  /** Names of environment variables of tools, each with the name of the stored token that it gets in these runs */
  credential_overrides?: {
    [name: string]: string;
  };
  budget?: Budget | null;
  /** The most seconds that one request to a model may take. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_TOTAL_SECONDS`) */
  model_total_seconds?: number | null;
  /** The most seconds in which nothing of an answer arrives. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_SILENCE_SECONDS`) */
  model_silence_seconds?: number | null;
  /** What to do with a prompt while a run is in progress: `enqueue` runs it afterwards, `reject` refuses it, `interrupt` halts the run, `steer` lets the run read the prompt at its next step (schedules enqueue theirs). Of several prompts that interrupt, only the newest runs; the others end `halted` with `superseded` */
  on_busy?: 'enqueue' | 'reject' | 'interrupt' | 'steer';
  /** What a run knows of earlier ones. `none`: nothing. `thread`: each prompt is a turn of a conversation, a new one or that of its `thread_id`, and its model reads the turns before. Threads of a workflow run next to each other; `on_busy` decides within each */
  remember?: 'none' | 'thread';
  /** What happens to prompts that wait when the workflow is switched off: `halt` ends them with `workflow_inactive`, `wait` keeps them until it is switched on. The run in progress continues */
  on_inactive?: 'halt' | 'wait';
};

export type ExportedWorkflowOutput = {
  /** Of the exported record. An import gives it to the new record if it is free, so that references hold. References of the same bundle to an id that cannot be one here lead to the new record */
  id?: string;
  agent_id: string;
  /** Null: the agent's, then the provider's */
  model: string | null;
  title: string | null;
  /** Tool calls that a run may make; each is one turn */
  max_turns: number;
  skill_ids: string[];
  skill_tags: string[];
  output_format: 'json' | 'markdown';
  /** JSON Schema (draft 2020-12) of the final answer, which is then JSON whatever `output_format` is. An answer that does not fit is sent back to the model once; if the next one does not fit either, the run fails with `output_invalid` */
  output_schema: {
    [name: string]: unknown;
  } | null;
  reasoning_effort: string | null;
  /** Null: the model's default. Anthropic takes at most 1; reasoning models refuse it */
  temperature: number | null;
  /** Null: the model's default */
  top_p: number | null;
  /** Of one answer, reasoning included. Null: the model's default */
  max_output_tokens: number | null;
  /** Texts at which the model stops. OpenAI takes at most 4 */
  stop: string[];
  /** Whether the model may ask for several tool calls at once. Null: the model's default */
  parallel_tool_calls: boolean | null;
  /** How soon the vendor answers, and at which price. Null: the vendor's default. Sent to OpenAI and Azure */
  service_tier: 'auto' | 'default' | 'flex' | 'scale' | 'priority' | null;
  /** How long the answers are. Null: the model's default. Sent to GPT-5 and later at OpenAI and Azure */
  verbosity: 'low' | 'medium' | 'high' | null;
  /** When the conversation of a run fills the model's context window, a summary replaces its older part. Off: the run fails at that point */
  infinite_session: boolean;
  /** Runs neither read nor store memories */
  bypass_memory: boolean;
  /** After a completed run, the model names at most three lasting facts, and later runs are given them */
  auto_memory: boolean;
  /** The model is given lists of records in tool results as tab-separated values (TSV) if that is shorter than JSON */
  tsv_tool_results: boolean;
  /** Filler words are removed from the instructions, and the model is asked for a terse answer, to save tokens */
  caveman: boolean;
  guardrail_ids: string[];
  guardrail_tags: string[];
  /** Checked out into the run's workspace before its first step */
  repo_url: string | null;
  repo_branch: string | null;
  repo_token_name: string | null;
  webhook_url: string | null;
  error_webhook_url: string | null;
  /** Names of environment variables of tools, each with the name of the stored token that it gets in these runs */
  credential_overrides: {
    [name: string]: string;
  };
  budget: BudgetOutput | null;
  /** The most seconds that one request to a model may take. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_TOTAL_SECONDS`) */
  model_total_seconds: number | null;
  /** The most seconds in which nothing of an answer arrives. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_SILENCE_SECONDS`) */
  model_silence_seconds: number | null;
  /** What to do with a prompt while a run is in progress: `enqueue` runs it afterwards, `reject` refuses it, `interrupt` halts the run, `steer` lets the run read the prompt at its next step (schedules enqueue theirs). Of several prompts that interrupt, only the newest runs; the others end `halted` with `superseded` */
  on_busy: 'enqueue' | 'reject' | 'interrupt' | 'steer';
  /** What a run knows of earlier ones. `none`: nothing. `thread`: each prompt is a turn of a conversation, a new one or that of its `thread_id`, and its model reads the turns before. Threads of a workflow run next to each other; `on_busy` decides within each */
  remember: 'none' | 'thread';
  /** What happens to prompts that wait when the workflow is switched off: `halt` ends them with `workflow_inactive`, `wait` keeps them until it is switched on. The run in progress continues */
  on_inactive: 'halt' | 'wait';
};

export type Fallback = {
  /** The failures after which it is asked; a failure that passes is retried as often as without a fallback first */
  on: ('unreachable' | 'overloaded' | 'rate_limited' | 'quota' | 'deprecated' | 'content_filter' | 'context_too_long')[];
  /** Null: the same provider, with another model */
  provider_id?: string | null;
  /** Null: the provider's default model */
  model?: string | null;
};

export type FallbackModel = {
  /** Null: the default runtime */
  provider_id: string | null;
  provider: string | null;
  /** Null: the default of the provider's endpoint */
  model: string | null;
  /** Its place among the fallbacks; 0: the model of the run itself, again */
  position: number;
};

/** RFC 9457 problem details, with the fields that are not valid */
export type FieldsProblem = {
  type: string;
  title: string;
  status: number;
  /** What went wrong and what to do, as a sentence */
  detail: string;
  /** Stable word for machines */
  code: string;
  request_id: string;
  /** Each fault at its dotted path */
  errors: {
    path: string;
    message: string;
  }[];
};

export type ForkAccepted = {
  /** Identifier issued by the service (UUIDv7) */
  task_id: string;
  /** Identifier issued by the service (UUIDv7) */
  workflow_id: string;
  /** The conversation of which the run is a turn; null: of none */
  thread_id: string | null;
  status: string;
  prompt: string;
  /** ISO 8601, UTC */
  created_at: string;
  stream_url: string;
  forked_from: ForkedFrom;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** What the fork has differently from its source run, from `from_step` on. Fields left out stay as they were */
export type ForkChanges = {
  system_prompt?: string;
  /** Used as it is now, with its default model unless `model` names one. Null: the default runtime */
  provider_id?: string | null;
  /** Null: the provider's default model */
  model?: string | null;
  /** Tools that the source run has stay as they were then; others are used as they are now */
  custom_tool_ids?: string[];
  builtin_tools?: string[];
  /** Servers of the source run; others are left out */
  mcp_server_ids?: string[];
  output_format?: 'json' | 'markdown';
  reasoning_effort?: string | null;
  temperature?: number | null;
  top_p?: number | null;
  max_output_tokens?: number | null;
  stop?: string[];
  parallel_tool_calls?: boolean | null;
  service_tier?: 'auto' | 'default' | 'flex' | 'scale' | 'priority' | null;
  verbosity?: 'low' | 'medium' | 'high' | null;
  /** Copied messages that get another text, by their `step` and `position` in the request of the step. Calls stay as they are. The first prompt is also what the fork is a run of */
  messages?: {
    step: number;
    position: number;
    content: string;
  }[];
};

/** A run that was forked from this one, and the step it began at */
export type ForkOfRun = {
  /** Identifier issued by the service (UUIDv7) */
  task_id: string;
  step: number;
  status: 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'halted';
  /** ISO 8601, UTC */
  created_at: string;
};

export type ForkRequest = {
  /** The first step to run again; earlier steps are copied */
  from_step: number;
  /** Added for the model before the step, after everything copied. At step 1 it replaces the prompt */
  prompt?: string;
  /** `recorded`: a call that the source run also made, at this step or later, gets the recorded result; any other `write` call is refused, and any other call is executed. `stub`: no tool is called. `live`: every call is executed */
  effects?: 'recorded' | 'stub' | 'live';
  on_busy?: 'enqueue' | 'reject' | 'interrupt';
  /** The fork becomes a turn of the source run's thread, next to the source, and the head of the thread. False: it is in no thread, and reads the turns before the source run */
  in_thread?: boolean;
  changes?: ForkChanges;
};

/** The run this one was forked from, the step it began at, and how its tool calls are handled */
export type ForkedFrom = {
  /** Identifier issued by the service (UUIDv7) */
  task_id: string;
  step: number;
  effects: 'recorded' | 'stub' | 'live';
};

export type FoundPassage = {
  item_id: string | null;
  name: string;
  position: number;
  score: number;
};

export type FullExportBundle = {
  version: string;
  exported_at: string;
  resource_type: 'bundle';
  skills: ExportedSkillOutput[];
  guardrails: ExportedGuardrailOutput[];
  agents: ExportedAgentOutput[];
  workflows: ExportedWorkflowOutput[];
  knowledge_sources: ExportedKnowledgeSourceOutput[];
  scheduled_agents: ExportedScheduledAgentOutput[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type FullImport = {
  version: string;
  exported_at?: string;
  resource_type?: 'bundle';
  skills?: ExportedSkill[];
  guardrails?: ExportedGuardrail[];
  agents?: ExportedAgent[];
  workflows?: ExportedWorkflow[];
  knowledge_sources?: ExportedKnowledgeSource[];
  scheduled_agents?: ExportedScheduledAgent[];
};

export type FunctionOfTool = {
  name: string;
  description?: string;
  parameters?: {
    [name: string]: unknown;
  };
  [name: string]: unknown;
};

export type FunctionOfToolOutput = {
  name: string;
  description?: string;
  parameters?: {
    [name: string]: unknown;
  };
  [name: string]: unknown;
};

export type Grader = ExactGrader | RegexGrader | JsonSchemaGrader | ModelGrader | PythonGrader;

export type GraderOutput = ExactGraderOutput | RegexGraderOutput | JsonSchemaGraderOutput | ModelGraderOutput | PythonGrader;

export type Guardrail = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  name: string;
  description: string;
  /** Fixed once created */
  guardrail_type: 'prompt' | 'request' | 'output';
  enabled: boolean;
  tags: string[];
  /** Fields of the configuration of this type */
  config: {
    [name: string]: unknown;
  };
  /** The same as `config`, for other clients of this interface; null in a record of another kind */
  prompt_config?: {
    [name: string]: unknown;
  } | null;
  /** The same as `config`, for other clients of this interface; null in a record of another kind */
  request_config?: {
    [name: string]: unknown;
  } | null;
  /** The same as `config`, for other clients of this interface; null in a record of another kind */
  output_config?: {
    [name: string]: unknown;
  } | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type GuardrailCheck = {
  passed: boolean;
  /** What would be done; null when the text passes */
  action: 'block' | 'redact' | 'warn' | null;
  violations: string[];
  /** What would be let through; null when nothing would */
  text: string | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type GuardrailCheckRequest = {
  text: string;
};

export type GuardrailCreate = {
  name: string;
  description?: string;
  /** Fixed once created */
  guardrail_type: 'prompt' | 'request' | 'output';
  enabled?: boolean;
  tags?: string[];
  /** Fields of the configuration of this type */
  config?: {
    [name: string]: unknown;
  };
};

export type GuardrailExportBundle = {
  version: string;
  exported_at: string;
  resource_type: 'guardrail';
  items: ExportedGuardrailOutput[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** Items as an export bundle holds them */
export type GuardrailImport = {
  version?: string;
  exported_at?: string;
  resource_type?: 'guardrail';
  items: ExportedGuardrail[];
};

export type GuardrailUpdate = {
  name?: string;
  description?: string;
  /** Fixed once created */
  guardrail_type?: 'prompt' | 'request' | 'output';
  enabled?: boolean;
  tags?: string[];
  config?: {
    [name: string]: unknown;
  };
};

export type HaltRequested = {
  status: 'halt_requested';
  /** Identifier issued by the service (UUIDv7) */
  workflow_id: string;
  /** Identifier issued by the service (UUIDv7) */
  task_id: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type ImportResult = {
  created: number;
  /** One message for each item that was not created, or was created without references that cannot be ids here; it names them */
  errors: string[];
  ids: string[];
  /** What was ignored, such as unknown fields */
  warnings: Warning[];
};

/** One decision that a run waits for */
export type InboxItem = {
  /** Of the decision, as long as it is open */
  id: string;
  /** `approval`: a call needs an approval. `question`: a tool asks a person. `client`: the program of the prompt has to send the result of a call. `reconciliation`: a call may have taken effect. `budget`: the budget of the run or one above it is used up, or a model has no price. `behind`: the installation was restored from a record older than the run */
  kind: 'approval' | 'question' | 'client' | 'reconciliation' | 'budget' | 'behind';
  /** Identifier issued by the service (UUIDv7) */
  task_id: string;
  /** null: the run as a whole waits */
  call_id: string | null;
  tool: string | null;
  effect: 'read' | 'idempotent' | 'write' | null;
  /** The model's own text, the first 4,000 characters */
  arguments: string | null;
  /** Whether `arguments` is only the beginning */
  arguments_cut: boolean;
  question: CallQuestion | null;
  /** What the record lacks of what the run has done */
  record_behind: string | null;
  /** Identifier issued by the service (UUIDv7) */
  workflow_id: string;
  workflow_title: string | null;
  /** Identifier issued by the service (UUIDv7) */
  agent_id: string;
  agent_name: string;
  /** The first 300 characters */
  prompt: string;
  /** ISO 8601, UTC */
  waiting_since: string;
};

export type JsonSchemaGrader = {
  /** The answer is JSON that the schema accepts */
  type: 'json_schema';
  json_schema: {
    [name: string]: unknown;
  };
};

export type JsonSchemaGraderOutput = {
  /** The answer is JSON that the schema accepts */
  type: 'json_schema';
  json_schema: {
    [name: string]: unknown;
  };
};

export type KnowledgeAnswer = {
  items: KnowledgeFound[];
  /** Such as a search without vectors */
  warnings: Warning[];
};

export type KnowledgeContent = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  name: string;
  content_type: string;
  content: string;
  /** The same as `content`, for other clients of this interface */
  text_content?: string | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type KnowledgeFound = {
  /** Null for results from another database */
  item_id: string | null;
  /** Identifier issued by the service (UUIDv7) */
  source_id: string;
  name: string;
  tags: string[];
  /** Which chunk of the item */
  position: number;
  /** The chunk */
  content: string;
  /** 0 to 1 */
  score: number;
  text_score: number | null;
  vector_score: number | null;
};

/** Without its text; that is at /content */
export type KnowledgeItem = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  /** A builtin source */
  source_id: string;
  name: string;
  description: string;
  content_type: string;
  tags: string[];
  metadata: {
    [name: string]: unknown;
  };
  /** text_only: found by its words only, see last_error */
  status: 'indexed' | 'text_only';
  last_error: string | null;
  chunks: number;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type KnowledgeItemCreate = {
  /** A builtin source */
  source_id: string;
  name: string;
  description?: string;
  content: string;
  content_type?: string;
  tags?: string[];
  metadata?: {
    [name: string]: unknown;
  };
};

export type KnowledgeItemUpdate = {
  /** A builtin source */
  source_id?: string;
  name?: string;
  description?: string;
  content?: string;
  content_type?: string;
  tags?: string[];
  metadata?: {
    [name: string]: unknown;
  };
};

export type KnowledgeQuery = {
  /** Left out: the newest items */
  query?: string;
  /** Any of them */
  tags?: string[];
  source_ids?: string[];
  limit?: number;
};

export type KnowledgeSource = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  name: string;
  description: string;
  /** builtin; vector_db: Qdrant; pgvector: another Postgres */
  source_type: 'builtin' | 'vector_db' | 'pgvector';
  /** vector_db: url, collection, api_key, text_field. pgvector: url, table, text_column, embedding_column. builtin: nothing. A field that the type does not read, or lacks, is a warning. Values may hold {{token:NAME}}; secret values are returned masked. */
  connection_config: {
    [name: string]: unknown;
  };
  tags: string[];
  status: 'registered' | 'connected' | 'error';
  last_error: string | null;
  /** Stored tokens it names that you cannot use: they do not exist, or are not yours. Runs refuse it */
  needs?: string[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type KnowledgeSourceCreate = {
  name: string;
  description?: string;
  /** builtin; vector_db: Qdrant; pgvector: another Postgres */
  source_type?: 'builtin' | 'vector_db' | 'pgvector';
  /** vector_db: url, collection, api_key, text_field. pgvector: url, table, text_column, embedding_column. builtin: nothing. A field that the type does not read, or lacks, is a warning. Values may hold {{token:NAME}}; secret values are returned masked. */
  connection_config?: {
    [name: string]: unknown;
  };
  tags?: string[];
};

export type KnowledgeSourceExportBundle = {
  version: string;
  exported_at: string;
  resource_type: 'knowledge_source';
  items: ExportedKnowledgeSourceOutput[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** Items as an export bundle holds them */
export type KnowledgeSourceImport = {
  version?: string;
  exported_at?: string;
  resource_type?: 'knowledge_source';
  items: ExportedKnowledgeSource[];
};

export type KnowledgeSourceUpdate = {
  name?: string;
  description?: string;
  source_type?: 'builtin' | 'vector_db' | 'pgvector';
  connection_config?: {
    [name: string]: unknown;
  };
  tags?: string[];
};

export type KnowledgeTest = {
  success: boolean;
  /** How many it holds, if that is known */
  items: number | null;
  /** Whether this installation has an embedding endpoint; if not, search is full-text only */
  embeddings: boolean;
  error: string | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type ListPrice = {
  input: number;
  output: number;
  cache_read?: number;
  cache_write?: number;
  /** The prices of a whole request whose input has more than this number of tokens */
  above?: {
    input: number;
    output: number;
    cache_read?: number;
    cache_write?: number;
    tokens: number;
  };
  /** The prices of requests that the vendor answers later. Perdura sends none */
  batch?: {
    input: number;
    output: number;
  };
};

/** A log event by its name. Versions to come add names: ignore those that you do not know */
export type LogData =
  | {
      event: 'prompt_received';
      detail: string;
      /** Identifier issued by the service (UUIDv7) */
      task_id: string;
      attachments?: Attachment[];
    }
  | {
      event: 'message_waiting';
      detail: string;
      /** Identifier issued by the service (UUIDv7) */
      message_id: string;
    }
  | {
      event: 'message_withdrawn';
      detail: string;
      /** Identifier issued by the service (UUIDv7) */
      message_id: string;
    }
  | {
      event: 'message_passed_on';
      detail: string;
      /** Identifier issued by the service (UUIDv7) */
      message_id: string;
      /** The run that gets it */
      task_id: string;
    }
  | {
      event: 'message_refused';
      detail: string;
      /** Identifier issued by the service (UUIDv7) */
      message_id: string;
      /** The code, or the sentence, of the reason that its receipt shows */
      reason: string;
    }
  | {
      event: 'forked';
      detail: string;
      forked_from: ForkedFrom;
      /** The fields in which the fork differs from its source */
      changes?: string[];
    }
  | {
      event: 'run_started';
      detail: string;
    }
  | {
      event: 'context_built';
      detail: string;
      /** The names of the tools that the model is offered */
      tools: string[];
      /** Resources of others, which the agent's tags do not join */
      not_joined?: string[];
    }
  | {
      event: 'model_call';
      detail: string;
      step: number;
    }
  | {
      event: 'model_response';
      detail: string;
      step: number;
      /** True: Perdura does not know this finish reason, and took the answer for complete */
      unknown?: boolean;
    }
  | {
      event: 'tool_call';
      detail: string;
      call_id: string;
      name: string;
      arguments: string;
      /** Present from the second attempt on */
      attempt?: number;
      answered_by?: 'recorded' | 'stub' | 'refused';
      /** Present if the call ran at the model's provider */
      ran_at?: 'provider';
    }
  | {
      event: 'tool_result';
      detail: string;
      call_id: string;
      name: string;
      failed: boolean;
      duration_ms?: number;
      /** The sandbox that confined a Python tool */
      isolation?: string;
      stdout?: string;
      stderr?: string;
      answered_by?: 'recorded' | 'stub' | 'refused';
      /** Present if the call ran at the model's provider */
      ran_at?: 'provider';
      /** Images, sounds and other files of the result; download each as an attachment */
      files?: Attachment[];
      /** The beginning of the result, if the call ran at the model's provider */
      result?: string;
    }
  | {
      event: 'tool_denied';
      detail: string;
      call_id: string;
      name?: string;
    }
  | {
      event: 'goal_reminder';
      detail: string;
    }
  | {
      event: 'approval_requested';
      detail: string;
      call_id: string;
      name: string;
      arguments: string;
    }
  | {
      event: 'approval_decided';
      detail: string;
      call_id: string;
      decision: 'approve' | 'deny';
      /** The login of the person */
      by: string;
      message?: string;
    }
  | {
      event: 'reconciliation_requested';
      detail: string;
      call_id: string;
      name: string;
      arguments: string;
      /** True if the reason is a restore of the installation */
      restored: boolean;
      /** Why nobody knows the outcome, if it is neither a restore nor a lost worker: the server of the tool was lost, or silent */
      cause?: string;
    }
  | {
      event: 'reconciliation_decided';
      detail: string;
      call_id: string;
      name?: string;
      decision: 'retry' | 'done' | 'fail';
      /** The login of the person */
      by?: string;
      message?: string;
    }
  | {
      event: 'client_call_requested';
      detail: string;
      call_id: string;
      name: string;
      arguments: string;
    }
  | {
      event: 'client_call_answered';
      detail: string;
      call_id: string;
    }
  | {
      event: 'question_asked';
      detail: string;
      call_id: string;
      name: string;
      question: CallQuestion;
    }
  | {
      event: 'question_answered';
      detail: string;
      call_id: string;
      name?: string;
      /** Identifier issued by the service (UUIDv7) */
      question_id: string;
      outcome: 'accept' | 'decline' | 'cancel' | 'withdrawn' | 'expired';
      /** The login of the person */
      by?: string;
    }
  | {
      event: 'record_behind';
      detail: string;
      /** What the record lacks */
      missing: string;
    }
  | {
      event: 'continuity_decided';
      detail: string;
      decision: 'resume' | 'fail';
      /** The login of the person */
      by: string;
    }
  | {
      event: 'retry';
      detail: string;
      step?: number;
      call_id?: string;
      error_code?: string;
      wait_ms?: number;
    }
  | {
      event: 'fallback';
      detail: string;
      step: number;
      reason: 'unreachable' | 'overloaded' | 'rate_limited' | 'quota' | 'deprecated' | 'content_filter' | 'context_too_long';
      error_code: string;
      from: AskedModel;
      to: FallbackModel;
    }
  | {
      event: 'fallback_ended';
      detail: string;
      step: number;
      from: AskedModel;
      to: AskedModel;
    }
  | {
      event: 'attempt_reset';
      detail: string;
      step: number;
    }
  | {
      event: 'rate_limited';
      detail: string;
      step: number;
      error_code?: string;
      wait_ms: number;
    }
  | {
      event: 'context_window_full';
      detail: string;
      step: number;
      /** The size that the endpoint named, in tokens */
      context_window?: number;
    }
  | {
      event: 'compaction';
      detail: string;
      step: number;
      /** The number of replaced messages */
      messages: number;
      up_to_step: number;
    }
  | {
      event: 'memory_loaded';
      detail: string;
      keys: string[];
    }
  | {
      event: 'memory_stored';
      detail: string;
      keys: string[];
    }
  | {
      event: 'knowledge_loaded';
      detail: string;
      items: FoundPassage[];
      warnings?: string[];
    }
  | {
      event: 'mcp_connected';
      detail: string;
      server?: string;
      tools?: string[];
    }
  | {
      event: 'mcp_error';
      detail: string;
      server: string;
    }
  | {
      event: 'repo_synced';
      detail: string;
      branch: string | null;
      commit: string;
    }
  | {
      event: 'guardrail_blocked';
      detail: string;
      guardrail: string;
    }
  | {
      event: 'output_guardrail_violation';
      detail: string;
      guardrail: string;
      action: 'block' | 'redact' | 'warn';
      reasons: string[];
    }
  | {
      event: 'output_rejected';
      detail: string;
      step: number;
      /** True if the model is not asked again */
      final: boolean;
    }
  | {
      event: 'progress';
      detail: string;
      call_id?: string;
      todos?: Todo[];
      progress?: number;
      total?: number;
    }
  | {
      event: 'budget_exhausted';
      detail: string;
      step: number;
      on_exhausted: 'wait' | 'halt';
      /** The budget above the run that the call does not fit; absent: its own */
      budget_id?: string;
      /** When the period of a used up budget ends */
      until?: string;
    }
  | {
      event: 'budget_warning';
      detail: string;
      step: number;
      budget_id: string;
      /** The share of the budget that is spent */
      used: number;
    }
  | {
      event: 'unpriced_model';
      detail: string;
      step: number;
      on_exhausted: 'wait' | 'halt';
      /** Null: the default model */
      model: string | null;
      /** The name of the provider; null: the default runtime */
      provider: string | null;
      /** About what the next model call sends */
      tokens: number;
    }
  | {
      event: 'halted';
      detail: string;
    }
  | {
      event: 'completed';
      detail: string;
    }
  | {
      event: 'error';
      detail: string;
      error_code: string | null;
    }
  | {
      event: 'setting_left_out';
      detail: string;
      setting: string;
    }
  | {
      event: 'tools_not_offered';
      detail: string;
      /** Empty: all tools of the server */
      tools: string[];
      server?: string;
      reason: string;
    }
  | {
      event: 'stream_reset';
      detail: string;
    };

export type LogEntry =
  | {
      event: 'prompt_received';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      /** Identifier issued by the service (UUIDv7) */
      task_id: string;
      attachments?: Attachment[];
    }
  | {
      event: 'message_waiting';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      /** Identifier issued by the service (UUIDv7) */
      message_id: string;
    }
  | {
      event: 'message_withdrawn';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      /** Identifier issued by the service (UUIDv7) */
      message_id: string;
    }
  | {
      event: 'message_passed_on';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      /** Identifier issued by the service (UUIDv7) */
      message_id: string;
      /** The run that gets it */
      task_id: string;
    }
  | {
      event: 'message_refused';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      /** Identifier issued by the service (UUIDv7) */
      message_id: string;
      /** The code, or the sentence, of the reason that its receipt shows */
      reason: string;
    }
  | {
      event: 'forked';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      forked_from: ForkedFrom;
      /** The fields in which the fork differs from its source */
      changes?: string[];
    }
  | {
      event: 'run_started';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
    }
  | {
      event: 'context_built';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      /** The names of the tools that the model is offered */
      tools: string[];
      /** Resources of others, which the agent's tags do not join */
      not_joined?: string[];
    }
  | {
      event: 'model_call';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      step: number;
    }
  | {
      event: 'model_response';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      step: number;
      /** True: Perdura does not know this finish reason, and took the answer for complete */
      unknown?: boolean;
    }
  | {
      event: 'tool_call';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      call_id: string;
      name: string;
      arguments: string;
      /** Present from the second attempt on */
      attempt?: number;
      answered_by?: 'recorded' | 'stub' | 'refused';
      /** Present if the call ran at the model's provider */
      ran_at?: 'provider';
    }
  | {
      event: 'tool_result';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      call_id: string;
      name: string;
      failed: boolean;
      duration_ms?: number;
      /** The sandbox that confined a Python tool */
      isolation?: string;
      stdout?: string;
      stderr?: string;
      answered_by?: 'recorded' | 'stub' | 'refused';
      /** Present if the call ran at the model's provider */
      ran_at?: 'provider';
      /** Images, sounds and other files of the result; download each as an attachment */
      files?: Attachment[];
      /** The beginning of the result, if the call ran at the model's provider */
      result?: string;
    }
  | {
      event: 'tool_denied';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      call_id: string;
      name?: string;
    }
  | {
      event: 'goal_reminder';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
    }
  | {
      event: 'approval_requested';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      call_id: string;
      name: string;
      arguments: string;
    }
  | {
      event: 'approval_decided';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      call_id: string;
      decision: 'approve' | 'deny';
      /** The login of the person */
      by: string;
      message?: string;
    }
  | {
      event: 'reconciliation_requested';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      call_id: string;
      name: string;
      arguments: string;
      /** True if the reason is a restore of the installation */
      restored: boolean;
      /** Why nobody knows the outcome, if it is neither a restore nor a lost worker: the server of the tool was lost, or silent */
      cause?: string;
    }
  | {
      event: 'reconciliation_decided';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      call_id: string;
      name?: string;
      decision: 'retry' | 'done' | 'fail';
      /** The login of the person */
      by?: string;
      message?: string;
    }
  | {
      event: 'client_call_requested';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      call_id: string;
      name: string;
      arguments: string;
    }
  | {
      event: 'client_call_answered';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      call_id: string;
    }
  | {
      event: 'question_asked';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      call_id: string;
      name: string;
      question: CallQuestion;
    }
  | {
      event: 'question_answered';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      call_id: string;
      name?: string;
      /** Identifier issued by the service (UUIDv7) */
      question_id: string;
      outcome: 'accept' | 'decline' | 'cancel' | 'withdrawn' | 'expired';
      /** The login of the person */
      by?: string;
    }
  | {
      event: 'record_behind';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      /** What the record lacks */
      missing: string;
    }
  | {
      event: 'continuity_decided';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      decision: 'resume' | 'fail';
      /** The login of the person */
      by: string;
    }
  | {
      event: 'retry';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      step?: number;
      call_id?: string;
      error_code?: string;
      wait_ms?: number;
    }
  | {
      event: 'fallback';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      step: number;
      reason: 'unreachable' | 'overloaded' | 'rate_limited' | 'quota' | 'deprecated' | 'content_filter' | 'context_too_long';
      error_code: string;
      from: AskedModel;
      to: FallbackModel;
    }
  | {
      event: 'fallback_ended';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      step: number;
      from: AskedModel;
      to: AskedModel;
    }
  | {
      event: 'attempt_reset';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      step: number;
    }
  | {
      event: 'rate_limited';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      step: number;
      error_code?: string;
      wait_ms: number;
    }
  | {
      event: 'context_window_full';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      step: number;
      /** The size that the endpoint named, in tokens */
      context_window?: number;
    }
  | {
      event: 'compaction';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      step: number;
      /** The number of replaced messages */
      messages: number;
      up_to_step: number;
    }
  | {
      event: 'memory_loaded';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      keys: string[];
    }
  | {
      event: 'memory_stored';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      keys: string[];
    }
  | {
      event: 'knowledge_loaded';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      items: FoundPassage[];
      warnings?: string[];
    }
  | {
      event: 'mcp_connected';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      server?: string;
      tools?: string[];
    }
  | {
      event: 'mcp_error';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      server: string;
    }
  | {
      event: 'repo_synced';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      branch: string | null;
      commit: string;
    }
  | {
      event: 'guardrail_blocked';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      guardrail: string;
    }
  | {
      event: 'output_guardrail_violation';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      guardrail: string;
      action: 'block' | 'redact' | 'warn';
      reasons: string[];
    }
  | {
      event: 'output_rejected';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      step: number;
      /** True if the model is not asked again */
      final: boolean;
    }
  | {
      event: 'progress';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      call_id?: string;
      todos?: Todo[];
      progress?: number;
      total?: number;
    }
  | {
      event: 'budget_exhausted';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      step: number;
      on_exhausted: 'wait' | 'halt';
      /** The budget above the run that the call does not fit; absent: its own */
      budget_id?: string;
      /** When the period of a used up budget ends */
      until?: string;
    }
  | {
      event: 'budget_warning';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      step: number;
      budget_id: string;
      /** The share of the budget that is spent */
      used: number;
    }
  | {
      event: 'unpriced_model';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      step: number;
      on_exhausted: 'wait' | 'halt';
      /** Null: the default model */
      model: string | null;
      /** The name of the provider; null: the default runtime */
      provider: string | null;
      /** About what the next model call sends */
      tokens: number;
    }
  | {
      event: 'halted';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
    }
  | {
      event: 'completed';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
    }
  | {
      event: 'error';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      error_code: string | null;
    }
  | {
      event: 'setting_left_out';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      setting: string;
    }
  | {
      event: 'tools_not_offered';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
      /** Empty: all tools of the server */
      tools: string[];
      server?: string;
      reason: string;
    }
  | {
      event: 'stream_reset';
      /** ISO 8601, UTC */
      timestamp: string;
      detail: string;
    };

export type McpAllowList = {
  allowed_tools: string[];
};

export type McpImport = {
  /** Servers by name, each with `command`, `args` and `env`, or with `url` and `headers`; a list of servers with `name` is read, too */
  mcpServers?:
    | {
        [name: string]: {
          type?: string;
          transport?: string;
          command?: string;
          args?: string[];
          env?: {
            [name: string]: string;
          };
          url?: string;
          headers?: {
            [name: string]: string;
          };
          disabled?: boolean;
          allowed_tools?: string[];
        };
      }
    | unknown[];
  /** The same, as VS Code spells it */
  servers?:
    | {
        [name: string]: unknown;
      }
    | unknown[];
  /** The same, as opencode spells it, or as settings of VS Code wrap it */
  mcp?: unknown;
  [name: string]: unknown;
};

export type McpPrompt = {
  name: string;
  title: string | null;
  description: string;
  /** What the prompt is filled in with: texts */
  arguments: {
    name: string;
    description: string;
    required: boolean;
  }[];
};

export type McpPromptFill = {
  name: string;
  arguments?: {
    [name: string]: string;
  };
};

export type McpPromptText = {
  text: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type McpPrompts = {
  prompts: McpPrompt[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type McpServer = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  name: string;
  description: string;
  transport_type: 'stdio' | 'http' | 'sse';
  /** stdio: command, args, env; http and sse: url, headers, and for people's sign-ins oauth (client_id, client_secret, scope; without a client_id, Perdura registers itself). Values may hold {{token:NAME}} of a stored token. Secret values are returned as ********; sending the mask back leaves them unchanged. */
  connection_config: {
    [name: string]: unknown;
  };
  /** Empty: all */
  allowed_tools: string[];
  tags: string[];
  /** Whether runs get its tools */
  is_enabled: boolean;
  /** Whether the server may ask people for passwords, access tokens and the like while a tool runs; otherwise such questions are refused */
  allow_secret_questions: boolean;
  /** How long a connection may take until the server answers. The installation of its package is not counted */
  connect_seconds: number;
  /** The version of MCP: `2025-11-25` for all with a handshake, `2026-07-28`, or `auto` to ask the server, and prefer the later one. Servers that know both, but ask people questions only in the older way, need `2025-11-25`. The transport `sse` always has a handshake */
  protocol: 'auto' | '2025-11-25' | '2026-07-28';
  /** Whether a stdio server has a folder that outlasts its process: its home and working directory, one for each person who uses it */
  state: boolean;
  /** Whether a stdio server may reach the network */
  network: boolean;
  /** Folders and files of the host that a stdio server may read, or also write with `:rw` at the end. The operator allows them with MCP_PATHS; 422 for any other. */
  paths: string[];
  status: 'registered' | 'connected' | 'error';
  last_error: string | null;
  /** The caller's own sign-in at the server; null: none */
  sign_in: McpSignIn | null;
  /** Stored tokens it names that you cannot use: they do not exist, or are not yours. Runs refuse it */
  needs?: string[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type McpServerCreate = {
  name: string;
  description?: string;
  transport_type: 'stdio' | 'http' | 'sse';
  /** stdio: command, args, env; http and sse: url, headers, and for people's sign-ins oauth (client_id, client_secret, scope; without a client_id, Perdura registers itself). Values may hold {{token:NAME}} of a stored token. Secret values are returned as ********; sending the mask back leaves them unchanged. */
  connection_config: {
    [name: string]: unknown;
  };
  /** Empty: all */
  allowed_tools?: string[];
  tags?: string[];
  /** Whether runs get its tools */
  is_enabled?: boolean;
  /** Whether the server may ask people for passwords, access tokens and the like while a tool runs; otherwise such questions are refused */
  allow_secret_questions?: boolean;
  /** How long a connection may take until the server answers. The installation of its package is not counted */
  connect_seconds?: number;
  /** The version of MCP: `2025-11-25` for all with a handshake, `2026-07-28`, or `auto` to ask the server, and prefer the later one. Servers that know both, but ask people questions only in the older way, need `2025-11-25`. The transport `sse` always has a handshake */
  protocol?: 'auto' | '2025-11-25' | '2026-07-28';
  /** Whether a stdio server has a folder that outlasts its process: its home and working directory, one for each person who uses it */
  state?: boolean;
  /** Whether a stdio server may reach the network */
  network?: boolean;
  /** Folders and files of the host that a stdio server may read, or also write with `:rw` at the end. The operator allows them with MCP_PATHS; 422 for any other. */
  paths?: string[];
};

export type McpServerUpdate = {
  name?: string;
  description?: string;
  transport_type?: 'stdio' | 'http' | 'sse';
  /** stdio: command, args, env; http and sse: url, headers, and for people's sign-ins oauth (client_id, client_secret, scope; without a client_id, Perdura registers itself). Values may hold {{token:NAME}} of a stored token. Secret values are returned as ********; sending the mask back leaves them unchanged. */
  connection_config?: {
    [name: string]: unknown;
  };
  allowed_tools?: string[];
  tags?: string[];
  is_enabled?: boolean;
  allow_secret_questions?: boolean;
  connect_seconds?: number;
  protocol?: 'auto' | '2025-11-25' | '2026-07-28';
  state?: boolean;
  network?: boolean;
  paths?: string[];
};

export type McpSignIn = {
  /** ISO 8601, UTC */
  signed_in_at: string;
  /** When the access token expires; null: the server did not say */
  expires_at: string | null;
  /** Whether it is renewed before it expires */
  renews: boolean;
};

export type McpSignInAnswer = {
  /** The server in the address of the answer, `/api/mcps/{id}/sign-in/callback`. An answer for another server is refused */
  server_id?: string;
  state: string;
  code: string;
  /** The issuer, if the server sent it */
  iss?: string;
};

export type McpSignInBegun = {
  authorization_url: string;
  origins: McpSignInOrigins;
  /** Where the browser is sent back to: an address of this server alone */
  redirect_url: string;
  /** Until when the sign-in can be finished */
  expires_at: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type McpSignInFinished = {
  /** ISO 8601, UTC */
  signed_in_at: string;
  /** When the access token expires; null: the server did not say */
  expires_at: string | null;
  /** Whether it is renewed before it expires */
  renews: boolean;
  /** Identifier issued by the service (UUIDv7) */
  server_id: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** Who takes part. If they differ, show them to the person before the browser opens `authorization_url` */
export type McpSignInOrigins = {
  server: string;
  /** Where the person consents */
  authorization: string;
  /** Which server gets the code and issues the tokens */
  token: string;
};

export type McpTest = {
  success: boolean;
  tools: string[];
  error: string | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type McpTool = {
  name: string;
  description: string;
  parameters: {
    [name: string]: unknown;
  };
  effect: string;
  allowed: boolean;
};

export type McpTools = {
  tools: McpTool[];
  /** When the server listed them; null: it has not, as it is configured now, for you. Then `tools` is empty. */
  listed_at: string | null;
  /** What to do if nothing is listed */
  note: string | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type Me = {
  /** `provider:subject`: how `created_by` and `ADMIN_SUBJECTS` name people */
  id: string;
  /** The identity provider that vouches for the access token */
  provider: string;
  /** The id the provider has for the person; it stays the same if the login changes */
  subject: string;
  login: string;
  /** Whether the role is administrator */
  is_admin: boolean;
  /** viewer: reads; editor: also runs and changes; administrator: also what ADMIN_SUBJECTS may */
  role: 'viewer' | 'editor' | 'administrator';
  /** What this access token may do */
  scopes: ('read' | 'run' | 'write' | 'keys' | 'audit')[];
  /** The service key that this access token is; null: the person’s own access token */
  service_key_id: string | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type Memory = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  /** Identifier issued by the service (UUIDv7) */
  agent_id: string;
  /** Recalled by runs of one workflow (session), of the agent, or of all agents (global). `agent` needs the right to change the agent, `global` an administrator */
  scope: 'session' | 'agent' | 'global';
  /** The workflow of a memory with the scope `session`; no other has one */
  workflow_id: string | null;
  key: string;
  value: string;
  metadata: {
    [name: string]: unknown;
  };
  ttl: string | null;
  /** The run that stored it */
  task_id: string | null;
  /** Whose runs alone recall it, because one of them stored it. Null: everyone’s that its scope includes */
  owner: string | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type MemoryCreate = {
  /** Identifier issued by the service (UUIDv7) */
  agent_id: string;
  /** Recalled by runs of one workflow (session), of the agent, or of all agents (global). `agent` needs the right to change the agent, `global` an administrator */
  scope?: 'session' | 'agent' | 'global';
  /** The workflow of a memory with the scope `session`; no other has one */
  workflow_id?: string | null;
  key: string;
  value: string;
  metadata?: {
    [name: string]: unknown;
  };
  /** When it expires; null: never */
  ttl?: string | null;
};

export type MemoryFound = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  /** Identifier issued by the service (UUIDv7) */
  agent_id: string;
  /** Recalled by runs of one workflow (session), of the agent, or of all agents (global). `agent` needs the right to change the agent, `global` an administrator */
  scope: 'session' | 'agent' | 'global';
  /** The workflow of a memory with the scope `session`; no other has one */
  workflow_id: string | null;
  key: string;
  value: string;
  metadata: {
    [name: string]: unknown;
  };
  ttl: string | null;
  /** The run that stored it */
  task_id: string | null;
  /** Whose runs alone recall it, because one of them stored it. Null: everyone’s that its scope includes */
  owner: string | null;
  score: number;
};

export type MemorySearch = {
  /** Identifier issued by the service (UUIDv7) */
  agent_id: string;
  query: string;
  scope?: 'session' | 'agent' | 'global';
  /** The workflow whose session memories to search; left out: all your workflows */
  workflow_id?: string;
  limit?: number;
};

export type MemoryUpdate = {
  value?: string;
  metadata?: {
    [name: string]: unknown;
  };
  ttl?: string | null;
};

export type MessageCreate = {
  message: string;
  /** Images, PDF files and texts that the model is given with the prompt */
  attachments?: AttachmentOrder[];
  /** If a turn is in progress: `enqueue` starts another one afterwards, `steer` lets the one in progress read the message at its next step, `interrupt` ends it and starts another one at once, `fork` starts one next to it from its last recorded step, `reject` refuses with 409 */
  when_busy?: 'enqueue' | 'steer' | 'interrupt' | 'fork' | 'reject';
  /** Up to 16 entries that you choose */
  metadata?: {
    [name: string]: string;
  };
};

/** A complete message of the model or of a tool, or one that a person sent while the run worked. */
export type MessageData = {
  role: string;
  content: string;
  step?: number;
  tool_calls?: RequestedCall[];
  call_id?: string;
  /** The tool, if the message is a result */
  name?: string;
  /** Present if a person sent the message while the run worked; `step` reads it first */
  kind?: 'steer';
  /** Its receipt */
  message_id?: string;
  /** True: the run ended before the message was complete */
  partial?: boolean;
  /** True: the reply ended at the output limit of the model */
  truncated?: boolean;
  /** What the model thought before, if its endpoint shows it; the beginning of it */
  reasoning?: string;
};

/** A piece of the text that the model is writing. */
export type MessageDeltaData = {
  delta: string;
};

/** A message with its outcome */
export type MessageReceipt = {
  /** Of the message, and of the turn that it begins */
  id: string;
  /** Null: it was sent to a run that is in no thread */
  thread_id: string | null;
  /** Identifier issued by the service (UUIDv7) */
  workflow_id: string;
  /** Its outcome. `pending`: no run has read it yet. Every other state is final: `started` a turn, `steered` a run that was working, `refused` (see `reason`), or `withdrawn` by its author */
  state: 'pending' | 'started' | 'steered' | 'refused' | 'withdrawn';
  when_busy: 'enqueue' | 'steer' | 'interrupt' | 'fork' | 'reject';
  message: string;
  attachments: Attachment[];
  /** Up to 16 entries that you choose */
  metadata: {
    [name: string]: string;
  };
  /** The run that it waits for, has entered, or is */
  task_id: string;
  /** The step of that run that read it; null: it is the prompt, or waits */
  step: number | null;
  /** Why it was refused */
  reason: string | null;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type Model = {
  id: string;
  name: string;
  /** Identifier issued by the service (UUIDv7) */
  provider_id?: string;
  /** Tokens: the provider's setting, otherwise what the endpoint named when it refused a longer request or lists, otherwise from the table of known models. Absent: unknown; runs use DEFAULT_CONTEXT_WINDOW */
  context_window?: number;
  /** What the size is known from: the provider's setting, the endpoint, or the table of known models. Absent with the size */
  context_window_from?: 'provider' | 'endpoint' | 'known';
  /** The most tokens of one answer */
  max_output: number | null;
  /** Whether it calls tools */
  tools: boolean | null;
  /** Whether it keeps to a JSON Schema */
  structured_output: boolean | null;
  /** The day from which its vendor advises against it */
  deprecated_on: string | null;
  /** The day on which its vendor stops answering for it */
  ends_on: string | null;
  /** The model that its vendor recommends instead */
  successor: string | null;
  /** The vendor of the model; null: the catalogue does not have it */
  vendor: string | null;
  /** The values of `reasoning_effort` that it takes; empty: none */
  reasoning_efforts: string[] | null;
  /** What it reads and writes */
  modalities: {
    input: string[];
    output: string[];
  } | null;
  source: string | null;
  as_of: string | null;
  /** US dollars per million tokens at this provider. Absent: unknown */
  price?: ListPrice;
  /** Whether its price at this provider is known. Runs of other models have no known cost */
  priced: boolean;
  /** `provider`: its `price_table`. `catalogue`: the vendor's list price, at the vendor's own address */
  price_source: 'provider' | 'catalogue' | null;
};

export type ModelGrader = {
  /** A model judges the answer. Each judgement is a run with the trigger `evaluation`, which is paid for like any other */
  type: 'model';
  /** Null selects the default runtime */
  provider_id?: string | null;
  /** Null: the provider's default model */
  model?: string | null;
  /** What makes an answer right */
  instructions?: string;
  /** The judge gives a score from 0 to 1, which passes from here on. Left out: it decides between pass and fail */
  pass_at?: number;
};

export type ModelGraderOutput = {
  /** A model judges the answer. Each judgement is a run with the trigger `evaluation`, which is paid for like any other */
  type: 'model';
  /** Null selects the default runtime */
  provider_id: string | null;
  /** Null: the provider's default model */
  model: string | null;
  /** What makes an answer right */
  instructions: string;
  /** The judge gives a score from 0 to 1, which passes from here on. Left out: it decides between pass and fail */
  pass_at?: number;
};

export type ModelUsage = {
  from: string;
  to: string;
  rows: ModelUsageRow[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type ModelUsageRow = {
  name: string;
  calls: number;
  failed: number;
  /** failed / calls */
  error_rate: number;
  /** At most 5 % off, as the other percentiles */
  p50_ms: number;
  p95_ms: number;
  p99_ms: number;
  /** Input tokens */
  total_in: number;
  /** Output tokens */
  total_out: number;
  /** US dollars of what has a price; null: nothing has one, so the cost is unknown */
  cost: number | null;
  /** Calls whose cost is unknown */
  unpriced: number;
};

export type NewServiceKey = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** The principal that it acts as, as `provider:subject` */
  owner: string;
  owner_login: string;
  name: string;
  /** viewer: reads; editor: also runs and changes; administrator: also what ADMIN_SUBJECTS may */
  role: 'viewer' | 'editor' | 'administrator';
  scopes: ('read' | 'run' | 'write' | 'keys' | 'audit')[];
  /** The first and the last characters of the key */
  hint: string;
  /** The key that made it. It ends and is deleted together with that key; null: a person made it */
  made_with: string | null;
  expires_at: string | null;
  /** To the minute */
  last_used_at: string | null;
  rotated_at: string | null;
  /** Until then the key before the last rotation works, too */
  previous_valid_until: string | null;
  /** ISO 8601, UTC */
  created_at: string;
  /** Shown only in this reply */
  key: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type NewThreadToken = {
  /** Identifier issued by the service (UUIDv7) */
  thread_id: string;
  /** Shown only in this reply */
  token: string;
  origins: string[];
  /** ISO 8601, UTC */
  expires_at: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type NewWebhookSecret = {
  /** installation: the operator's, until you rotate for the first time */
  source: 'own' | 'installation';
  /** Distinguishes two secrets without revealing either */
  fingerprint: string | null;
  rotated_at: string | null;
  /** Until then messages are also signed with the previous secret */
  previous_valid_until: string | null;
  /** In the format of Standard Webhooks; shown only once */
  secret: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type PeriodBudget = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  name: string;
  /** Whose calls of models count */
  scope: 'installation' | 'person' | 'service_key' | 'agent' | 'workflow' | 'schedule';
  /** The id of the service key, agent, workflow or schedule; of a person, `id` in `GET /api/me`. Null: you, or the installation */
  subject_id: string | null;
  /** A week begins on Monday */
  period: 'day' | 'week' | 'month';
  /** IANA name */
  time_zone: string;
  /** US dollars */
  limit_usd: number | null;
  limit_tokens: number | null;
  /** Shares of the limit. A run reports `budget_warning` when one is reached, and prompts carry a warning */
  warn_at: number[];
  /** Runs wait in both cases until there is room again; `refuse` also refuses new prompts with 429 */
  on_exhausted: 'wait' | 'refuse';
  /** In this period, as far as calls have ended; in the unit of the limit, like `reserved` and `left` */
  spent: number;
  /** What calls in progress are expected to use */
  reserved: number;
  /** The limit without what is spent and reserved; at least 0 */
  left: number;
  /** The share of the limit that is spent */
  used: number;
  /** ISO 8601, UTC */
  period_starts_at: string;
  /** ISO 8601, UTC */
  period_ends_at: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type PeriodBudgetCreate = {
  name: string;
  /** Whose calls of models count */
  scope: 'installation' | 'person' | 'service_key' | 'agent' | 'workflow' | 'schedule';
  /** The id of the service key, agent, workflow or schedule; of a person, `id` in `GET /api/me`. Null: you, or the installation */
  subject_id?: string | null;
  /** A week begins on Monday */
  period: 'day' | 'week' | 'month';
  /** IANA name */
  time_zone?: string;
  /** US dollars */
  limit_usd?: number | null;
  limit_tokens?: number | null;
  /** Shares of the limit. A run reports `budget_warning` when one is reached, and prompts carry a warning */
  warn_at?: number[];
  /** Runs wait in both cases until there is room again; `refuse` also refuses new prompts with 429 */
  on_exhausted?: 'wait' | 'refuse';
};

export type PeriodBudgetUpdate = {
  name?: string;
  limit_usd?: number | null;
  limit_tokens?: number | null;
  warn_at?: number[];
  on_exhausted?: 'wait' | 'refuse';
};

export type PersonSettings = {
  /** Saved views of lists, in the order shown */
  views: SavedViewOutput[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type PersonSettingsUpdate = {
  /** Saved views of lists, in the order shown */
  views?: SavedView[];
};

/** RFC 9457 problem details */
export type Problem = {
  type: string;
  title: string;
  status: number;
  /** What went wrong and what to do, as a sentence */
  detail: string;
  /** Stable word for machines */
  code: string;
  request_id: string;
  errors?: {
    path: string;
    message: string;
  }[];
};

export type PromptAccepted = {
  /** Identifier issued by the service (UUIDv7) */
  task_id: string;
  /** Identifier issued by the service (UUIDv7) */
  workflow_id: string;
  /** The conversation of which the run is a turn; null: of none */
  thread_id: string | null;
  status: string;
  prompt: string;
  /** ISO 8601, UTC */
  created_at: string;
  stream_url: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type PromptRequest = {
  prompt?: string;
  /** Instead of `prompt`: its JSON text is the prompt */
  request?: {
    [name: string]: unknown;
  };
  /** Images, PDF files and texts that the model is given with the prompt */
  attachments?: AttachmentOrder[];
  reasoning_effort?: string | null;
  on_busy?: 'enqueue' | 'reject' | 'interrupt' | 'steer';
  /** The conversation of this workflow that the prompt continues */
  thread_id?: string;
};

export type Provider = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  name: string;
  description: string;
  /** `anthropic_messages`: the Messages API. `anthropic`: without `base_url` agent sessions at the vendor, with it chat completions */
  provider_type: 'openai' | 'azure_openai' | 'openai_compatible' | 'anthropic' | 'anthropic_messages';
  /** Name of the stored token that holds the key */
  api_key_token_name: string | null;
  base_url: string | null;
  auth_type: 'bearer' | 'x-api-key';
  azure_api_version: string | null;
  azure_deployment: string | null;
  default_model: string | null;
  requests_per_minute: number | null;
  /** Model name (or *) to US dollars per million tokens */
  price_table: {
    [name: string]: {
      input: number;
      output: number;
      cache_read?: number;
      cache_write?: number;
      /** The prices of a whole request whose input has more than this number of tokens */
      above?: {
        input: number;
        output: number;
        cache_read?: number;
        cache_write?: number;
        tokens: number;
      };
    };
  };
  /** Context window of its models, in tokens. Null: what the endpoint names, otherwise from the table of known models */
  context_window: number | null;
  fallbacks: StoredFallbackOutput[];
  /** Minutes after which a run asks its own model again; 0: at its next step; null: it stays with the fallback to its end. Counts with the `fallbacks` next to it */
  fallback_minutes: number | null;
  /** The most seconds that one request to a model may take. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_TOTAL_SECONDS`) */
  model_total_seconds: number | null;
  /** The most seconds in which nothing of an answer arrives. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_SILENCE_SECONDS`) */
  model_silence_seconds: number | null;
  /** Stored tokens it names that you cannot use: they do not exist, or are not yours. Runs refuse it */
  needs?: string[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type ProviderCreate = {
  name: string;
  description?: string;
  /** `anthropic_messages`: the Messages API. `anthropic`: without `base_url` agent sessions at the vendor, with it chat completions */
  provider_type: 'openai' | 'azure_openai' | 'openai_compatible' | 'anthropic' | 'anthropic_messages';
  /** Name of the stored token that holds the key */
  api_key_token_name?: string | null;
  base_url?: string | null;
  auth_type?: 'bearer' | 'x-api-key';
  azure_api_version?: string | null;
  azure_deployment?: string | null;
  default_model?: string | null;
  requests_per_minute?: number | null;
  /** Model name (or *) to US dollars per million tokens */
  price_table?: {
    [name: string]: {
      input: number;
      output: number;
      cache_read?: number;
      cache_write?: number;
      /** The prices of a whole request whose input has more than this number of tokens */
      above?: {
        input: number;
        output: number;
        cache_read?: number;
        cache_write?: number;
        tokens: number;
      };
    };
  };
  /** Context window of its models, in tokens. Null: what the endpoint names, otherwise from the table of known models */
  context_window?: number | null;
  /** Models that are asked in this order when a run's own model fails. An agent's list replaces that of its provider; the lists of the fallbacks themselves do not count. Empty: none */
  fallbacks?: Fallback[];
  /** Minutes after which a run asks its own model again; 0: at its next step; null: it stays with the fallback to its end. Counts with the `fallbacks` next to it */
  fallback_minutes?: number | null;
  /** The most seconds that one request to a model may take. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_TOTAL_SECONDS`) */
  model_total_seconds?: number | null;
  /** The most seconds in which nothing of an answer arrives. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_SILENCE_SECONDS`) */
  model_silence_seconds?: number | null;
};

export type ProviderDraft = {
  /** `anthropic_messages`: the Messages API. `anthropic`: without `base_url` agent sessions at the vendor, with it chat completions */
  provider_type: 'openai' | 'azure_openai' | 'openai_compatible' | 'anthropic' | 'anthropic_messages';
  base_url?: string | null;
  auth_type?: 'bearer' | 'x-api-key';
  azure_api_version?: string | null;
  azure_deployment?: string | null;
  default_model?: string | null;
  /** Sent to the provider and not stored */
  api_key?: string | null;
};

export type ProviderPreset = {
  id: string;
  name: string;
  provider_type: 'openai' | 'azure_openai' | 'openai_compatible' | 'anthropic' | 'anthropic_messages';
  /** Null: the vendor's own address */
  base_url: string | null;
  /** Which key it takes, and where to get it. Null: none is needed */
  key_hint: string | null;
  /** A model to begin with: the cheapest living one of the newest generation that calls tools, from the catalogue. Empty: it has none */
  model_example: string;
  /** What the vendor refuses or names differently, a sentence each */
  differences: string[];
  docs_url: string;
};

export type ProviderTest = {
  success: boolean;
  models: string[];
  /** What is wrong and what to do, in one sentence */
  error: string | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type ProviderUpdate = {
  name?: string;
  description?: string;
  /** `anthropic_messages`: the Messages API. `anthropic`: without `base_url` agent sessions at the vendor, with it chat completions */
  provider_type?: 'openai' | 'azure_openai' | 'openai_compatible' | 'anthropic' | 'anthropic_messages';
  api_key_token_name?: string | null;
  base_url?: string | null;
  auth_type?: 'bearer' | 'x-api-key';
  azure_api_version?: string | null;
  azure_deployment?: string | null;
  default_model?: string | null;
  requests_per_minute?: number | null;
  /** Model name (or *) to US dollars per million tokens */
  price_table?: {
    [name: string]: {
      input: number;
      output: number;
      cache_read?: number;
      cache_write?: number;
      /** The prices of a whole request whose input has more than this number of tokens */
      above?: {
        input: number;
        output: number;
        cache_read?: number;
        cache_write?: number;
        tokens: number;
      };
    };
  };
  context_window?: number | null;
  fallbacks?: Fallback[];
  fallback_minutes?: number | null;
  model_total_seconds?: number | null;
  model_silence_seconds?: number | null;
};

export type PythonGrader = {
  /** One of your custom tools is called with those of `prompt`, `answer` and `expected` that it takes, and returns true, false or `{"pass": …, "reason": …}` */
  type: 'python';
  /** Identifier issued by the service (UUIDv7) */
  tool_id: string;
};

export type ReconciliationDecision = {
  decision: 'retry' | 'done' | 'fail';
  result?: unknown;
};

/** A record that has changed, without its content */
export type RecordChange = {
  /** What changed, as the part of its path after `/api/`: `tasks`, `workflows`, `agents` and so on. `inbox`: what a run waits for. `all`: changes may have been missed, so read again whatever you show. Versions to come add kinds: ignore those that you do not know */
  kind: string;
  /** The record; null: several, or one without an id. With `inbox`, the run */
  id: string | null;
  /** The workflow of a run */
  workflow_id?: string;
};

export type RegexGrader = {
  /** The answer contains a match */
  type: 'regex';
  /** RE2 syntax, as in guardrails */
  pattern: string;
};

export type RegexGraderOutput = {
  /** The answer contains a match */
  type: 'regex';
  /** RE2 syntax, as in guardrails */
  pattern: string;
};

/** An item that passed in the baseline and does not pass now */
export type Regression = {
  /** Identifier issued by the service (UUIDv7) */
  item_id: string;
  prompt: string;
  status: 'pending' | 'running' | 'passed' | 'failed' | 'error' | 'halted';
  task_id: string | null;
  baseline_task_id: string | null;
};

export type RequestedCall = {
  call_id: string;
  name: string;
  arguments: string;
};

export type RestoreRequest = {
  /** What to do if the agent was changed since. `keep`: leave it as it is. `change`: set it back, for everybody who uses it. `copy`: create an agent as it was, for this workflow. Left out: refuse with 409 */
  agent?: 'keep' | 'change' | 'copy';
};

export type RestoredVersion = {
  /** Identifier issued by the service (UUIDv7) */
  workflow_id: string;
  /** Identifier issued by the service (UUIDv7) */
  agent_id: string;
  /** The version that the next run uses; null if that is not recorded yet */
  version: number | null;
  /** Whether the next run works with the same definition as the version */
  exact: boolean;
  /** What the next run has differently, because it belongs to a skill, a tool or another shared resource */
  differences: VersionChange[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type RotatedServiceKey = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** The principal that it acts as, as `provider:subject` */
  owner: string;
  owner_login: string;
  name: string;
  /** viewer: reads; editor: also runs and changes; administrator: also what ADMIN_SUBJECTS may */
  role: 'viewer' | 'editor' | 'administrator';
  scopes: ('read' | 'run' | 'write' | 'keys' | 'audit')[];
  /** The first and the last characters of the key */
  hint: string;
  /** The key that made it. It ends and is deleted together with that key; null: a person made it */
  made_with: string | null;
  expires_at: string | null;
  /** To the minute */
  last_used_at: string | null;
  rotated_at: string | null;
  /** Until then the key before the last rotation works, too */
  previous_valid_until: string | null;
  /** ISO 8601, UTC */
  created_at: string;
  /** Shown only in this reply */
  key: string;
  /** The keys made with it, directly or not. They end with the replaced key, at the latest at this `expires_at` */
  ending_keys: EndingKey[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** A run with everything that `perdura replay` needs, and no secret */
export type RunBundle = {
  format: 'perdura-run';
  version: 1;
  perdura_version: string;
  task: {
    /** Identifier issued by the service (UUIDv7) */
    id: string;
    /** Identifier issued by the service (UUIDv7) */
    workflow_id: string;
    trigger: string;
    prompt: string;
    /** Without their content */
    attachments?: Attachment[];
    forked_from: ForkedFrom | null;
    /** Its number among the turns of a conversation */
    thread_turn?: number | null;
    budget: {
      max_cost_usd: number | null;
      max_tokens: number | null;
      max_seconds: number | null;
      on_exhausted: 'wait' | 'halt';
    } | null;
    /** ISO 8601, UTC */
    created_at: string;
    started_at: string | null;
    completed_at: string | null;
  };
  definition: {
    agent: {
      /** Identifier issued by the service (UUIDv7) */
      id: string;
      name: string;
      system_prompt: string;
    };
    workflow: {
      /** Identifier issued by the service (UUIDv7) */
      id: string;
      title: string | null;
    };
    model: string | null;
    provider: {
      /** Identifier issued by the service (UUIDv7) */
      id: string;
      name: string;
      provider_type: string;
      default_model: string | null;
      requests_per_minute: number | null;
      price_table: {
        [name: string]: {
          input: number;
          output: number;
          [name: string]: unknown;
        };
      };
    } | null;
    fallbacks?: {
      on: ('unreachable' | 'overloaded' | 'rate_limited' | 'quota' | 'deprecated' | 'content_filter' | 'context_too_long')[];
      model: string | null;
      /** Absent: the provider of the definition */
      provider?: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        name: string;
        provider_type: string;
        default_model: string | null;
        requests_per_minute: number | null;
        price_table: {
          [name: string]: {
            input: number;
            output: number;
            [name: string]: unknown;
          };
        };
      };
      /** The id of a provider that did not exist */
      missing?: string;
    }[];
    fallback_minutes?: number;
    settings: {
      max_turns: number;
      output_format: string;
      reasoning_effort: string | null;
      infinite_session: boolean;
      bypass_memory: boolean;
      auto_memory: boolean;
      tsv_tool_results: boolean;
      caveman: boolean;
      temperature?: number;
      top_p?: number;
      max_output_tokens?: number;
      stop?: string[];
      parallel_tool_calls?: boolean;
      service_tier?: 'auto' | 'default' | 'flex' | 'scale' | 'priority';
      verbosity?: 'low' | 'medium' | 'high';
    };
    skills: {
      name: string;
      instructions: string;
    }[];
    guardrails?: {
      name: string;
      guardrail_type: string;
      config: {
        [name: string]: unknown;
      };
    }[];
    approval_tools: string[];
    guarded_tools?: string[];
    approve_effects?: ('read' | 'idempotent' | 'write')[];
    output_schema?: {
      [name: string]: unknown;
    };
    forced_tools?: string[];
    budget: {
      max_cost_usd: number | null;
      max_tokens: number | null;
      max_seconds: number | null;
      on_exhausted: 'wait' | 'halt';
    } | null;
  };
  runtime: {
    context_window: number;
    /** Those of the fallbacks, in their order */
    fallback_windows?: number[];
    /** The conversation is kept by the vendor, so nothing is compacted */
    keeps_context: boolean;
  };
  /** As they were offered to the model */
  tools: {
    name: string;
    description: string;
    parameters: {
      [name: string]: unknown;
    };
    effect: 'read' | 'idempotent' | 'write';
    /** What the tool is, whatever it is called, and the names by which an agent can guard it */
    origin?: {
      tool: string;
      names: string[];
    };
  }[];
  /** Tools that the provider itself runs, as it is sent them */
  hosted_tools?: {
    type: string;
    name: string;
    [name: string]: unknown;
  }[];
  steps: {
    step: number;
    copied: boolean;
    model: string | null;
    provider_id?: string | null;
    provider_name?: string | null;
    fallback?: number;
    attempts: number;
    errors: number;
    error: string | null;
    finish: string | null;
    usage: {
      total_in: number;
      total_out: number;
      /** US dollars of what has a price; null: nothing has one, so the cost is unknown */
      cost: number | null;
      /** False: a part has no price, and is missing in `cost` */
      priced: boolean;
      cache_read: number;
      cache_write: number;
      /** A part was not reported by the endpoint and is an estimate */
      estimated: boolean;
    };
    /** ISO 8601, UTC */
    started_at: string;
    ended_at: string | null;
    /** SHA-256 of everything the loop sends the model at this step, and the number of messages */
    input: {
      digest: string;
      messages: number;
    } | null;
    output: string | null;
    guardrails: {
      guardrail: string;
      action: string;
      reasons: string[];
    }[];
    budget_exhausted: boolean;
    tool_calls: {
      call_id: string;
      name: string;
      /** The model's own text */
      arguments: string;
      effect: 'read' | 'idempotent' | 'write';
      approval: boolean;
      status:
        | 'planned'
        | 'started'
        | 'done'
        | 'denied'
        | 'waiting_approval'
        | 'waiting_reconciliation'
        | 'waiting_client'
        | 'waiting_answer';
      attempts: number;
      errors: number;
      failed: boolean | null;
      result: string | null;
      /** In a fork: what answered the call, if this run did not call the tool */
      answered_by: 'recorded' | 'stub' | 'refused' | null;
      duration_ms: number | null;
      position: number;
    }[];
  }[];
  transcript: {
    step: number;
    position: number;
    role: 'user' | 'assistant' | 'tool' | 'system';
    kind:
      | 'prompt'
      | 'steer'
      | 'reply'
      | 'partial'
      | 'result'
      | 'denial'
      | 'reminder'
      | 'repair'
      | 'invalid'
      | 'summary'
      | 'context'
      | 'withheld';
    content: string;
    tool_calls:
      | {
          call_id: string;
          name: string;
          arguments: string;
        }[]
      | null;
    call_id: string | null;
    extra: unknown;
    told_at: number;
  }[];
  /** What its model read of the turns before, at the beginning */
  earlier?: {
    step: number;
    position: number;
    role: 'user' | 'assistant' | 'tool' | 'system';
    kind:
      | 'prompt'
      | 'steer'
      | 'reply'
      | 'partial'
      | 'result'
      | 'denial'
      | 'reminder'
      | 'repair'
      | 'invalid'
      | 'summary'
      | 'context'
      | 'withheld';
    content: string;
    tool_calls:
      | {
          call_id: string;
          name: string;
          arguments: string;
        }[]
      | null;
    call_id: string | null;
    extra: unknown;
    turn: number;
    attachments: Attachment[] | null;
    provider_id: string | null;
    model: string | null;
  }[];
  end: {
    status: string;
    response: unknown;
    error: string | null;
    error_code: string | null;
    turns: number;
    steps: number;
    turn_limit_reached: boolean;
    usage: {
      total_in: number;
      total_out: number;
      /** US dollars of what has a price; null: nothing has one, so the cost is unknown */
      cost: number | null;
      /** False: a part has no price, and is missing in `cost` */
      priced: boolean;
      cache_read: number;
      cache_write: number;
      premium_requests: number;
      /** A part was not reported by the endpoint and is an estimate */
      estimated: boolean;
    };
  };
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** The `data` line of a frame; the `id` line holds its number, which increases within a workflow */
export type RunEvent =
  | {
      type: 'log';
      data: LogData;
      /** ISO 8601, UTC */
      timestamp: string;
    }
  | {
      type: 'message';
      data: MessageData;
      /** ISO 8601, UTC */
      timestamp: string;
    }
  | {
      type: 'message_delta';
      data: MessageDeltaData;
      /** ISO 8601, UTC */
      timestamp: string;
    }
  | {
      type: 'usage';
      data: UsageData;
      /** ISO 8601, UTC */
      timestamp: string;
    }
  | {
      type: 'status';
      data: StatusData;
      /** ISO 8601, UTC */
      timestamp: string;
    };

/** A model call, a tool call, the wait before a retry, or a wait for a person or a budget */
export type RunSpan = {
  /** The number of the step for a model call, the `call_id` for a tool call */
  id: string;
  /** The span it belongs to: the model call that asked for the tool, or what was paused */
  parent: string | null;
  kind: 'model' | 'tool' | 'retry' | 'wait';
  step: number;
  /** The model, the tool, the error code of the failed attempt, or what is waited for */
  name: string;
  /** What was open when the run ended has the status of the run */
  status: 'planned' | 'running' | 'waiting' | 'completed' | 'failed' | 'denied' | 'halted';
  attempts: number;
  detail: string | null;
  /** Copied from the source run of this fork, with its times */
  copied: boolean;
  /** Null: not started */
  start: string | null;
  /** Null: not ended. A retry ends when the next attempt is due; with a fallback, at once */
  end: string | null;
  /** What a model call used; null for everything else, and until the model has answered */
  usage: {
    total_in: number;
    total_out: number;
    /** US dollars of what has a price; null: nothing has one, so the cost is unknown */
    cost: number | null;
    /** False: a part has no price, and is missing in `cost` */
    priced: boolean;
    /** A part was not reported by the endpoint and is an estimate */
    estimated: boolean;
  } | null;
};

export type SavedView = {
  /** The list that it is a view of */
  screen: 'tasks';
  name: string;
  /** The filters and the order, as in the URL of the list */
  query: {
    [name: string]: string;
  };
};

export type SavedViewOutput = {
  /** The list that it is a view of */
  screen: 'tasks';
  name: string;
  /** The filters and the order, as in the URL of the list */
  query: {
    [name: string]: string;
  };
};

export type ScheduleBackfill = {
  /** The first due time, inclusive */
  from: string;
  /** The last due time, inclusive; not in the future */
  to: string;
  /** For these runs, instead of the schedule's; by default they run one after the other */
  overlap_policy?: 'skip' | 'enqueue_one' | 'enqueue' | 'interrupt';
};

export type ScheduleFire = {
  /** ISO 8601, UTC */
  due_at: string;
  /** triggered: by hand; backfilled: later, by a back-fill; skipped, missed, failed: made no task */
  outcome: 'firing' | 'started' | 'triggered' | 'backfilled' | 'skipped' | 'missed' | 'failed';
  /** Why there is no task; while `firing`, why there is none yet */
  detail: string | null;
  task_id: string | null;
  task_status: string | null;
  /** ISO 8601, UTC */
  fired_at: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type SchedulePreview = {
  /** With `interval_unit`: the time between two runs. Either an interval or `cron` is required */
  interval_value?: number | null;
  interval_unit?: 'minutes' | 'hours' | 'days' | 'weeks' | null;
  /** Five fields: minute, hour, day of month, month, day of week; or a name such as `@daily` */
  cron?: string | null;
  /** IANA name of the time zone in which `cron` is read */
  time_zone?: string;
  /** The first run, or with `cron` the time before which there is none; left out: now */
  start_at?: string;
  /** No run after this time */
  end_at?: string | null;
  count?: number;
};

export type ScheduledAgent = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  name: string;
  /** Identifier issued by the service (UUIDv7) */
  workflow_id: string;
  prompt: string;
  /** Null with `cron` */
  interval_value: number | null;
  interval_unit: 'minutes' | 'hours' | 'days' | 'weeks' | null;
  cron: string | null;
  time_zone: string;
  /** ISO 8601, UTC */
  start_at: string;
  end_at: string | null;
  jitter_seconds: number;
  enabled: boolean;
  /** Why the service disabled it; null when it is enabled, or was disabled by its owner */
  disabled_reason: string | null;
  pause_after_failures: number | null;
  overlap_policy: 'skip' | 'enqueue_one' | 'enqueue' | 'interrupt';
  catchup_window_seconds: number;
  last_run_at: string | null;
  /** Null when disabled or past its end */
  next_run_at: string | null;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type ScheduledAgentCreate = {
  name: string;
  /** Workflow to run; must be your own */
  workflow_id: string;
  /** Sent at each run */
  prompt: string;
  /** With `interval_unit`: the time between two runs. Either an interval or `cron` is required */
  interval_value?: number | null;
  interval_unit?: 'minutes' | 'hours' | 'days' | 'weeks' | null;
  /** Five fields: minute, hour, day of month, month, day of week; or a name such as `@daily` */
  cron?: string | null;
  /** IANA name of the time zone in which `cron` is read */
  time_zone?: string;
  /** The first run, or with `cron` the time before which there is none; left out: now */
  start_at?: string;
  /** No run after this time */
  end_at?: string | null;
  /** Each run starts up to this much later, by chance; less than the time between two runs */
  jitter_seconds?: number;
  /** What to do with a run that is due while the previous one is still running. `enqueue_one`: it waits, unless one waits already */
  overlap_policy?: 'skip' | 'enqueue_one' | 'enqueue' | 'interrupt';
  /** Disable the schedule after this many failed runs in a row; null: never */
  pause_after_failures?: number | null;
  /** How late a run may start after the service was down; a later one counts as missed */
  catchup_window_seconds?: number;
};

export type ScheduledAgentExportBundle = {
  version: string;
  exported_at: string;
  resource_type: 'scheduled_agent';
  items: ExportedScheduledAgentOutput[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** Items as an export bundle holds them */
export type ScheduledAgentImport = {
  version?: string;
  exported_at?: string;
  resource_type?: 'scheduled_agent';
  items: ExportedScheduledAgent[];
};

export type ScheduledAgentUpdate = {
  name?: string;
  /** Sent at each run */
  prompt?: string;
  interval_value?: number | null;
  interval_unit?: 'minutes' | 'hours' | 'days' | 'weeks' | null;
  cron?: string | null;
  time_zone?: string;
  /** The first run, or with `cron` the time before which there is none; left out: now */
  start_at?: string;
  end_at?: string | null;
  jitter_seconds?: number;
  overlap_policy?: 'skip' | 'enqueue_one' | 'enqueue' | 'interrupt';
  pause_after_failures?: number | null;
  catchup_window_seconds?: number;
};

/** What a person thinks of a run */
export type Score = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** Identifier issued by the service (UUIDv7) */
  task_id: string;
  thumb: 'up' | 'down' | null;
  /** A number instead of a thumb, on any scale */
  value: number | null;
  note: string;
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type ScoreCreate = {
  thumb?: 'up' | 'down' | null;
  /** A number instead of a thumb, on any scale */
  value?: number | null;
  note?: string;
};

export type ServiceKey = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** The principal that it acts as, as `provider:subject` */
  owner: string;
  owner_login: string;
  name: string;
  /** viewer: reads; editor: also runs and changes; administrator: also what ADMIN_SUBJECTS may */
  role: 'viewer' | 'editor' | 'administrator';
  scopes: ('read' | 'run' | 'write' | 'keys' | 'audit')[];
  /** The first and the last characters of the key */
  hint: string;
  /** The key that made it. It ends and is deleted together with that key; null: a person made it */
  made_with: string | null;
  expires_at: string | null;
  /** To the minute */
  last_used_at: string | null;
  rotated_at: string | null;
  /** Until then the key before the last rotation works, too */
  previous_valid_until: string | null;
  /** ISO 8601, UTC */
  created_at: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type ServiceKeyCreate = {
  name: string;
  /** Not above the caller's role */
  role?: 'viewer' | 'editor' | 'administrator';
  /** Null: everything its role allows except managing keys and reading the audit */
  scopes?: ('read' | 'run' | 'write' | 'keys' | 'audit')[] | null;
  /** Null: it does not expire */
  expires_at?: string | null;
};

export type ServiceKeyRotate = {
  /** How long the present key stays valid; 0: it ends at once. A key before it ends in any case */
  grace_seconds?: number;
};

export type Skill = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  name: string;
  description: string;
  /** Added to the instructions of a run */
  instructions: string;
  tags: string[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type SkillCreate = {
  name: string;
  description?: string;
  /** Added to the instructions of a run */
  instructions: string;
  tags?: string[];
};

export type SkillExportBundle = {
  version: string;
  exported_at: string;
  resource_type: 'skill';
  items: ExportedSkillOutput[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** Items as an export bundle holds them */
export type SkillImport = {
  version?: string;
  exported_at?: string;
  resource_type?: 'skill';
  items: ExportedSkill[];
};

export type SkillUpdate = {
  name?: string;
  description?: string;
  /** Added to the instructions of a run */
  instructions?: string;
  tags?: string[];
};

/** The run changed its status. */
export type StatusData = {
  status: 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'halted';
  current_turn: number;
  task_id: string;
  error?: string;
  error_code?: string | null;
};

/** Everything that the model was sent at a step */
export type StepRequest = {
  step: number;
  model: string | null;
  /** The system prompt as it was sent: the agent's, the skills, the answer format */
  instructions: string;
  /** The agent's own */
  system_prompt: string;
  skills: {
    name: string;
    instructions: string;
  }[];
  messages: {
    step: number;
    position: number;
    role: string;
    /** `prompt`, `memories`, `knowledge`, `reply`, `result`, `denial`, `reminder`, or `summary`, which stands for older messages */
    kind: string;
    content: string;
    tool_calls:
      | {
          call_id: string;
          name: string;
          arguments: string;
        }[]
      | null;
    call_id: string | null;
    /** What belongs to a reply besides its text: `reasoning`, which is shown only, and what the provider wants back */
    extra: unknown;
  }[];
  tools: {
    name: string;
    description: string;
    parameters: {
      [name: string]: unknown;
    };
  }[];
  /** The other fields of the request, such as `reasoning_effort` */
  parameters: {
    [name: string]: unknown;
  };
  changeable: ChangeableFields;
  /** What may differ from the request that was sent, one sentence each */
  not_rebuilt: string[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type StopRequested = {
  status: 'halt_requested';
  /** Identifier issued by the service (UUIDv7) */
  workflow_id: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type StoredFallback = {
  /** The failures after which it is asked; a failure that passes is retried as often as without a fallback first */
  on: ('unreachable' | 'overloaded' | 'rate_limited' | 'quota' | 'deprecated' | 'content_filter' | 'context_too_long')[];
  provider_id?: string | null;
  /** Null: the provider's default model */
  model?: string | null;
};

export type StoredFallbackOutput = {
  /** The failures after which it is asked; a failure that passes is retried as often as without a fallback first */
  on: ('unreachable' | 'overloaded' | 'rate_limited' | 'quota' | 'deprecated' | 'content_filter' | 'context_too_long')[];
  provider_id: string | null;
  /** Null: the provider's default model */
  model: string | null;
};

export type StoredToken = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  name: string;
  description: string;
  shared: boolean;
  /** A placeholder; the value is never returned */
  masked_value: '********';
  /** Distinguishes two values without revealing either; empty for administrators, who do not own it */
  fingerprint: string;
  /** What it is granted to, such as "provider my-openai"; empty for administrators, who do not own it */
  used_by: string[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type StoredTokenCreate = {
  name: string;
  /** Held encrypted; never returned */
  value: string;
  description?: string;
  /** Whether runs and requests of others may use it, through the resources it is granted to */
  shared?: boolean;
};

export type StoredTokenUpdate = {
  /** Held encrypted; never returned */
  value?: string;
  description?: string;
  shared?: boolean;
};

export type System = {
  /** Of the process that answers */
  version: string;
  /** ISO 8601, UTC */
  at: string;
  /** The checks of `GET /health/ready` */
  checks: {
    name: string;
    ok: boolean;
    detail: string;
  }[];
  /** What each worker reports every 10 seconds. One that stops is removed, one that is lost after an hour */
  workers: {
    /** null: it could not be read, see `error` */
    items:
      | {
          /** Identifier issued by the service (UUIDv7) */
          id: string;
          /** Its process and machine, as the engine names it */
          name: string;
          version: string;
          /** WORKER_BUILD_ID: runs stay on workers of the version they began on */
          build_id: string | null;
          /** Which work it does: runs, models, tools */
          roles: string[];
          /** How many steps and calls it runs at once */
          slots: number;
          /** How many it runs now */
          used: number;
          /** Free bytes on the disk of its home */
          disk_free: number | null;
          /** ISO 8601, UTC */
          started_at: string;
          /** ISO 8601, UTC */
          seen_at: string;
          /** It has not reported for 30 seconds: it is lost, or cannot reach the database */
          silent: boolean;
        }[]
      | null;
    /** Why it could not be read */
    error: string | null;
  };
  queues: {
    /** null: it could not be read, see `error` */
    items:
      | {
          queue: string;
          kind: 'workflow' | 'activity';
          /** Tasks of the engine that wait there, approximately */
          waiting: number;
          oldest_seconds: number;
          /** Workers that ask it for work */
          workers: number;
        }[]
      | null;
    /** Why it could not be read */
    error: string | null;
  };
  /** The runs of everybody that have not ended */
  runs: {
    /** null: it could not be read, see `error` */
    items:
      | {
          status: string;
          runs: number;
          oldest_seconds: number;
        }[]
      | null;
    /** Why it could not be read */
    error: string | null;
  };
  storage: {
    of: 'database' | 'home';
    used_bytes: number | null;
    /** null: unknown; a database does not report it */
    free_bytes: number | null;
    total_bytes: number | null;
    /** Why it could not be read */
    error: string | null;
  }[];
  /** The runs of everybody that failed in the last 24 hours, by `error_code`, without what they were about */
  failures: {
    /** null: it could not be read, see `error` */
    items:
      | {
          error_code: string;
          runs: number;
          /** ISO 8601, UTC */
          last_at: string;
          /** At most 5 */
          newest: {
            /** Identifier issued by the service (UUIDv7) */
            task_id: string;
            /** Of its owner */
            login: string;
            /** ISO 8601, UTC */
            at: string;
            /** Whether it is the caller's; only its owner can open it */
            own: boolean;
          }[];
        }[]
      | null;
    /** Why it could not be read */
    error: string | null;
  };
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type Task = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** Identifier issued by the service (UUIDv7) */
  workflow_id: string;
  workflow_title: string | null;
  /** Identifier issued by the service (UUIDv7) */
  agent_id: string;
  agent_name: string;
  model: string | null;
  reasoning_effort: string | null;
  status: 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'halted';
  prompt: string;
  /** Files that its model is given with the prompt */
  attachments: Attachment[];
  trigger: string;
  scheduled_agent_id: string | null;
  /** The conversation of which it is a turn */
  thread_id: string | null;
  /** The turn before it, whose messages its model reads */
  previous_task_id: string | null;
  /** Its number among the turns of its branch, from 1 */
  thread_turn: number | null;
  /** The final answer: a JSON value, or text for markdown; null before */
  response: unknown;
  error: string | null;
  error_code: string | null;
  usage: Usage;
  /** Tool calls so far; the limit `max_turns` counts them */
  turns: number;
  /** The same as turns */
  tool_calls: number;
  /** Exchanges with the model so far */
  steps: number;
  turn_limit_reached: boolean;
  /** The answer ended at the output limit of the model, so `response` is incomplete */
  truncated: boolean;
  /** What the record lacks of what the run has done, because the installation was restored from an older record. While the run is `waiting`, decide with `POST /api/tasks/{id}/continuity` */
  record_behind: string | null;
  definition_hash: string;
  forked_from: ForkedFrom | null;
  /** The run in the Temporal UI */
  engine_run_url: string | null;
  elapsed_seconds: number | null;
  /** ISO 8601, UTC */
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type TaskDetail = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** Identifier issued by the service (UUIDv7) */
  workflow_id: string;
  workflow_title: string | null;
  /** Identifier issued by the service (UUIDv7) */
  agent_id: string;
  agent_name: string;
  model: string | null;
  reasoning_effort: string | null;
  status: 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'halted';
  prompt: string;
  /** Files that its model is given with the prompt */
  attachments: Attachment[];
  trigger: string;
  scheduled_agent_id: string | null;
  /** The conversation of which it is a turn */
  thread_id: string | null;
  /** The turn before it, whose messages its model reads */
  previous_task_id: string | null;
  /** Its number among the turns of its branch, from 1 */
  thread_turn: number | null;
  /** The final answer: a JSON value, or text for markdown; null before */
  response: unknown;
  error: string | null;
  error_code: string | null;
  usage: Usage;
  /** Tool calls so far; the limit `max_turns` counts them */
  turns: number;
  /** The same as turns */
  tool_calls: number;
  /** Exchanges with the model so far */
  steps: number;
  turn_limit_reached: boolean;
  /** The answer ended at the output limit of the model, so `response` is incomplete */
  truncated: boolean;
  /** What the record lacks of what the run has done, because the installation was restored from an older record. While the run is `waiting`, decide with `POST /api/tasks/{id}/continuity` */
  record_behind: string | null;
  definition_hash: string;
  forked_from: ForkedFrom | null;
  /** The run in the Temporal UI */
  engine_run_url: string | null;
  elapsed_seconds: number | null;
  /** ISO 8601, UTC */
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
  /** Time in the status `waiting`: for an approval, a reconciliation, a budget, or a decision after a restore. Null: not started */
  waiting_seconds: number | null;
  /** `elapsed_seconds` without `waiting_seconds` */
  working_seconds: number | null;
  /** The budget that applies to this run, including later changes */
  budget: BudgetOutput | null;
  /** Whether every answer of a model had a price; if not, `usage.cost` lacks their cost. The same as `usage.priced` */
  priced: boolean;
  /** Oldest first, at most 100 */
  forks: ForkOfRun[];
  messages?: TranscriptMessage[];
  logs?: LogEntry[];
  /** Messages that the run reads at its next step, in the order in which they were accepted */
  waiting_messages: MessageReceipt[];
  /** With include=steps; the same as /steps */
  steps_detail?: TaskStep[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type TaskProgress = {
  todos: Todo[];
  current_step: string;
  percent_complete: number;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** One exchange with the model and the tool calls it asked for */
export type TaskStep = {
  step: number;
  /** Copied from the source run of this fork; not paid for again */
  copied: boolean;
  model: string | null;
  /** The provider that answered; null: the default runtime, or it is not known */
  provider_id: string | null;
  provider_name: string | null;
  /** Its place among the run's fallbacks; 0: the run's own model answered */
  fallback: number;
  /** Lost workers and recoverable errors included */
  attempts: number;
  errors: number;
  error: string | null;
  finish: string | null;
  usage: {
    total_in: number;
    total_out: number;
    /** US dollars of what has a price; null: nothing has one, so the cost is unknown */
    cost: number | null;
    /** False: a part has no price, and is missing in `cost` */
    priced: boolean;
    cache_read: number;
    cache_write: number;
    /** A part was not reported by the endpoint and is an estimate */
    estimated: boolean;
  };
  /** Messages added for the model since the previous step */
  input: {
    role: string;
    kind: string;
    content: string;
  }[];
  output: string | null;
  /** ISO 8601, UTC */
  started_at: string;
  ended_at: string | null;
  duration_ms: number | null;
  tool_calls: ToolCallRecord[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** A conversation, whose turns are runs (`GET /api/tasks?thread_id=`); private to its owner */
export type Thread = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** Null: a conversation of `/v1` that has no response yet */
  workflow_id: string | null;
  agent_id: string | null;
  agent_name: string | null;
  /** Null: the beginning of its first message */
  title: string | null;
  /** Up to 16 entries that you choose */
  metadata: {
    [name: string]: string;
  };
  pinned: boolean;
  /** The last turn of the branch in use; null: there is none yet */
  head_task_id: string | null;
  /** The turn in progress; null: none is */
  active_task_id: string | null;
  /** ISO 8601, UTC */
  created_at: string;
  /** When a turn was last added, or ended */
  updated_at: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type ThreadCreate = {
  /** Whose settings its turns take, as they are when a turn begins */
  workflow_id?: string;
  /** Instead of `workflow_id`: an agent, with the settings of a chat */
  agent_id?: string;
  /** Null: the beginning of its first message */
  title?: string | null;
  /** Up to 16 entries that you choose */
  metadata?: {
    [name: string]: string;
  };
  pinned?: boolean;
};

export type ThreadTokenCreate = {
  ttl_seconds?: number;
  /** The sites whose pages may use it; browsers of others are refused. Empty: those of `CORS_ORIGINS` */
  origins?: string[];
};

export type ThreadUpdate = {
  title?: string | null;
  /** Up to 16 entries that you choose */
  metadata?: {
    [name: string]: string;
  };
  pinned?: boolean;
  /** Any turn of the thread, which the next prompt follows. Refused with 409 while a turn is in progress */
  head_task_id?: string;
};

export type Todo = {
  id: string;
  title: string;
  status: string;
};

export type TokenGrant = {
  /** Null while it is only requested */
  id: string | null;
  /** asked: a resource names the token and its owner has not agreed; outdated: the resource has changed since */
  status: 'granted' | 'asked' | 'outdated';
  resource_type: 'provider' | 'custom_tool' | 'mcp_server' | 'knowledge_source' | 'workflow';
  /** Identifier issued by the service (UUIDv7) */
  resource_id: string;
  resource_name: string;
  /** The destination in words, without secrets */
  destination_label: string;
  /** Keyed fingerprint of everything that decides where the value goes */
  destination: string;
  granted_at: string | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type TokenGrantCreate = {
  resource_type: 'provider' | 'custom_tool' | 'mcp_server' | 'knowledge_source' | 'workflow';
  /** Identifier issued by the service (UUIDv7) */
  resource_id: string;
  /** Keyed fingerprint of everything that decides where the value goes */
  destination: string;
};

export type TokenUse = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** ISO 8601, UTC */
  used_at: string;
  /** Login of the principal who requested it */
  used_by: string;
  /** The run; null for a request */
  task_id: string | null;
  resource_kind: 'provider' | 'custom_tool' | 'mcp_server' | 'knowledge_source' | 'workflow';
  /** Identifier issued by the service (UUIDv7) */
  resource_id: string;
  resource_name: string;
  destination_label: string;
  granted: boolean;
};

export type ToolCallRecord = {
  call_id: string;
  name: string;
  /** The model's own text */
  arguments: string;
  effect: 'read' | 'idempotent' | 'write';
  approval: boolean;
  status:
    | 'planned'
    | 'started'
    | 'done'
    | 'denied'
    | 'waiting_approval'
    | 'waiting_reconciliation'
    | 'waiting_client'
    | 'waiting_answer';
  attempts: number;
  errors: number;
  failed: boolean | null;
  result: string | null;
  /** In a fork: what answered the call, if this run did not call the tool */
  answered_by: 'recorded' | 'stub' | 'refused' | null;
  question: CallQuestion | null;
  decided_by: string | null;
  stdout: string | null;
  stderr: string | null;
  duration_ms: number | null;
  started_at: string | null;
  ended_at: string | null;
};

export type ToolRunRequest = {
  arguments?: {
    [name: string]: unknown;
  };
};

export type ToolRunResult = {
  tool_name: string;
  /** JSON text of what the tool returned */
  result: string;
  success: boolean;
  error: string | null;
  duration_ms: number;
  stdout: string;
  stderr: string;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type ToolUsage = {
  from: string;
  to: string;
  rows: ToolUsageRow[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type ToolUsageRow = {
  name: string;
  calls: number;
  failed: number;
  /** failed / calls */
  error_rate: number;
  /** At most 5 % off, as the other percentiles */
  p50_ms: number;
  p95_ms: number;
  p99_ms: number;
};

export type ToolValidation = {
  valid: boolean;
  inferred_schema: {
    [name: string]: unknown;
  };
  error: string | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type ToolValidationRequest = {
  name: string;
  source_code: string;
};

export type TranscriptMessage = {
  role: string;
  content: string;
  kind: string;
  step: number;
  tool_calls:
    | {
        call_id: string;
        name: string;
        arguments: string;
      }[]
    | null;
  call_id: string | null;
  /** A reply that ended at the output limit of the model */
  truncated: boolean;
  /** ISO 8601, UTC */
  created_at: string;
};

export type UiChatRequest = {
  /** The id that the page has for the chat */
  id?: string;
  /** Only the last one is read: Perdura has the others */
  messages: {
    id: string;
    role: 'system' | 'user' | 'assistant';
    parts: {
      type: string;
      [name: string]: unknown;
    }[];
    metadata?: unknown;
    [name: string]: unknown;
  }[];
  trigger?: 'submit-message' | 'regenerate-message';
  /** The message that is edited, answered or made again */
  messageId?: string;
  /** Tools that the client executes */
  tools?: {
    name: string;
    description?: string;
    parameters?: unknown;
    [name: string]: unknown;
  }[];
  /** What happens to the message if a turn is in progress; absent: as `on_busy` of the workflow says */
  when_busy?: 'enqueue' | 'steer' | 'interrupt' | 'fork' | 'reject';
  [name: string]: unknown;
};

/** A chunk of the UI message stream of the AI SDK; the last frame of a stream is `[DONE]` */
export type UiChunk = {
  type: string;
  [name: string]: unknown;
};

/** A message as `useChat` of the AI SDK has it */
export type UiMessage = {
  id: string;
  role: 'system' | 'user' | 'assistant';
  parts: {
    type: string;
    [name: string]: unknown;
  }[];
  metadata?: unknown;
  [name: string]: unknown;
};

export type Usage = {
  total_in: number;
  total_out: number;
  /** US dollars of what has a price; null: nothing has one, so the cost is unknown */
  cost: number | null;
  /** False: a part has no price, and is missing in `cost` */
  priced: boolean;
  cache_read: number;
  cache_write: number;
  premium_requests: number;
  /** A part was not reported by the endpoint and is an estimate */
  estimated: boolean;
  /** The same as total_in */
  total_input_tokens: number;
  /** The same as total_out */
  total_output_tokens: number;
  /** The same as cost */
  total_cost: number | null;
  /** The same as premium_requests */
  total_premium_requests: number;
};

/** The usage of the run so far. */
export type UsageData = {
  total_in: number;
  total_out: number;
  /** True: a part was not reported by the endpoint and is an estimate */
  estimated?: boolean;
  /** False: a part has no price, and is missing in cost; absent: true */
  priced?: boolean;
  /** The same as total_in */
  total_input_tokens?: number;
  total_output_tokens?: number;
  /** The same as cost */
  total_cost?: number;
  total_premium_requests?: number;
  cost: number;
  cache_read: number;
  cache_write: number;
  premium_requests: number;
};

export type UsageReport = {
  from: string;
  to: string;
  rows: UsageRow[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type UsageRow = {
  /** Id or name of the group; null: all groups beyond the largest ones, and runs without their own workflow */
  key: string | null;
  /** What people call the group; null if it no longer exists */
  label: string | null;
  /** Begin of the hour or day; null without `interval` */
  at: string | null;
  /** Runs that ended */
  runs: number;
  completed: number;
  failed: number;
  halted: number;
  /** Runs whose usage is partly an estimate, since an endpoint did not report it */
  estimated: number;
  /** Input tokens */
  total_in: number;
  /** Output tokens */
  total_out: number;
  cache_read: number;
  cache_write: number;
  premium_requests: number;
  /** US dollars of what has a price; null: nothing has one, so the cost is unknown */
  cost: number | null;
  /** Runs whose cost is partly or wholly unknown, since a model had no price */
  unpriced: number;
};

export type VersionChange = {
  path: string;
  kind: 'added' | 'removed' | 'changed' | 'reordered';
  before?: unknown;
  after?: unknown;
};

/** What its runs work with. Secrets are masked */
export type VersionDefinition = {
  agent: {
    /** Identifier issued by the service (UUIDv7) */
    id: string;
    name: string;
    system_prompt: string;
  };
  workflow: {
    /** Identifier issued by the service (UUIDv7) */
    id: string;
    title: string | null;
  };
  model: string | null;
  provider: {
    /** Identifier issued by the service (UUIDv7) */
    id: string;
    name: string;
    provider_type: string;
    default_model: string | null;
    requests_per_minute: number | null;
    price_table: {
      [name: string]: unknown;
    };
    api_key_token_name: string | null;
    base_url: string | null;
    auth_type: string;
    azure_api_version: string | null;
    azure_deployment: string | null;
    context_window: number | null;
  } | null;
  fallbacks?: {
    on: ('unreachable' | 'overloaded' | 'rate_limited' | 'quota' | 'deprecated' | 'content_filter' | 'context_too_long')[];
    model: string | null;
    provider?: {
      /** Identifier issued by the service (UUIDv7) */
      id: string;
      name: string;
      provider_type: string;
      default_model: string | null;
      requests_per_minute: number | null;
      price_table: {
        [name: string]: unknown;
      };
      api_key_token_name: string | null;
      base_url: string | null;
      auth_type: string;
      azure_api_version: string | null;
      azure_deployment: string | null;
      context_window: number | null;
    };
    /** The id of a provider that did not exist */
    missing?: string;
    exchange_limits?: {
      /** The most seconds that one request to a model may take. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_TOTAL_SECONDS`) */
      model_total_seconds: number | null;
      /** The most seconds in which nothing of an answer arrives. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_SILENCE_SECONDS`) */
      model_silence_seconds: number | null;
    };
  }[];
  fallback_minutes?: number;
  settings: {
    max_turns: number;
    output_format: string;
    reasoning_effort: string | null;
    infinite_session: boolean;
    bypass_memory: boolean;
    auto_memory: boolean;
    tsv_tool_results: boolean;
    caveman: boolean;
    temperature?: number;
    top_p?: number;
    max_output_tokens?: number;
    stop?: string[];
    parallel_tool_calls?: boolean;
    service_tier?: 'auto' | 'default' | 'flex' | 'scale' | 'priority';
    verbosity?: 'low' | 'medium' | 'high';
  };
  skills: {
    name: string;
    instructions: string;
  }[];
  guardrails?: {
    name: string;
    guardrail_type: string;
    config: {
      [name: string]: unknown;
    };
  }[];
  approval_tools: string[];
  guarded_tools?: string[];
  approve_effects?: ('read' | 'idempotent' | 'write')[];
  output_schema?: {
    [name: string]: unknown;
  };
  forced_tools?: string[];
  budget: {
    max_cost_usd: number | null;
    max_tokens: number | null;
    max_seconds: number | null;
    on_exhausted: 'wait' | 'halt';
  } | null;
  knowledge_source_ids?: string[];
  not_joined?: string[];
  tools: {
    kind: 'custom' | 'builtin' | 'definition' | 'hosted' | 'client';
    name: string;
    [name: string]: unknown;
  }[];
  tools_left_out?: {
    name: string;
    reason: string;
  }[];
  mcp_servers?: {
    id: string;
    name: string;
    transport_type: string;
    /** With its secrets masked */
    connection_config: {
      [name: string]: unknown;
    };
    allowed_tools: string[];
    network: boolean;
    allow_secret_questions?: boolean;
    /** Absent: 30 */
    connect_seconds?: number;
    /** Absent: auto */
    protocol?: string;
    /** Absent: false */
    state?: boolean;
    paths: string[];
    required: boolean;
  }[];
  webhooks: {
    completed: string | null;
    error: string | null;
  };
  repository: {
    url: string;
    branch: string | null;
    token_name: string | null;
  } | null;
  exchange_limits?: {
    /** The most seconds that one request to a model may take. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_TOTAL_SECONDS`) */
    model_total_seconds: number | null;
    /** The most seconds in which nothing of an answer arrives. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_SILENCE_SECONDS`) */
    model_silence_seconds: number | null;
  };
};

export type VersionEvaluation = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** Identifier issued by the service (UUIDv7) */
  dataset_id: string;
  pass_rate: number;
  /** ISO 8601, UTC */
  completed_at: string;
};

export type VersionScores = {
  definition_hash: string;
  model: string | null;
  runs: number;
  completed: number;
  /** Runs that have a score */
  scored: number;
  thumbs_up: number;
  thumbs_down: number;
  /** Mean of the scores that are numbers */
  mean_value: number | null;
  /** ISO 8601, UTC */
  last_run_at: string;
};

export type Warning = {
  /** Dotted path of the field */
  path: string;
  message: string;
};

export type WebhookDelivery = {
  /** Sent as webhook-id; the same for every attempt */
  id: string;
  /** Identifier issued by the service (UUIDv7) */
  task_id: string;
  url: string;
  /** pending: more attempts follow; failed: given up */
  status: 'pending' | 'delivered' | 'failed';
  payload: unknown;
  attempts: {
    attempt: number;
    response_status: number | null;
    error: string | null;
    /** ISO 8601, UTC */
    attempted_at: string;
  }[];
  /** ISO 8601, UTC */
  created_at: string;
  delivered_at: string | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type WebhookSecret = {
  /** installation: the operator's, until you rotate for the first time */
  source: 'own' | 'installation';
  /** Distinguishes two secrets without revealing either */
  fingerprint: string | null;
  rotated_at: string | null;
  /** Until then messages are also signed with the previous secret */
  previous_valid_until: string | null;
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type Workflow = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** Identifier issued by the service (UUIDv7) */
  agent_id: string;
  /** Null: the agent's, then the provider's */
  model: string | null;
  title: string | null;
  /** Tool calls that a run may make; each is one turn */
  max_turns: number;
  skill_ids: string[];
  skill_tags: string[];
  output_format: 'json' | 'markdown';
  /** JSON Schema (draft 2020-12) of the final answer, which is then JSON whatever `output_format` is. An answer that does not fit is sent back to the model once; if the next one does not fit either, the run fails with `output_invalid` */
  output_schema: {
    [name: string]: unknown;
  } | null;
  reasoning_effort: string | null;
  /** Null: the model's default. Anthropic takes at most 1; reasoning models refuse it */
  temperature: number | null;
  /** Null: the model's default */
  top_p: number | null;
  /** Of one answer, reasoning included. Null: the model's default */
  max_output_tokens: number | null;
  /** Texts at which the model stops. OpenAI takes at most 4 */
  stop: string[];
  /** Whether the model may ask for several tool calls at once. Null: the model's default */
  parallel_tool_calls: boolean | null;
  /** How soon the vendor answers, and at which price. Null: the vendor's default. Sent to OpenAI and Azure */
  service_tier: 'auto' | 'default' | 'flex' | 'scale' | 'priority' | null;
  /** How long the answers are. Null: the model's default. Sent to GPT-5 and later at OpenAI and Azure */
  verbosity: 'low' | 'medium' | 'high' | null;
  /** When the conversation of a run fills the model's context window, a summary replaces its older part. Off: the run fails at that point */
  infinite_session: boolean;
  /** Runs neither read nor store memories */
  bypass_memory: boolean;
  /** After a completed run, the model names at most three lasting facts, and later runs are given them */
  auto_memory: boolean;
  /** The model is given lists of records in tool results as tab-separated values (TSV) if that is shorter than JSON */
  tsv_tool_results: boolean;
  /** Filler words are removed from the instructions, and the model is asked for a terse answer, to save tokens */
  caveman: boolean;
  guardrail_ids: string[];
  guardrail_tags: string[];
  /** Checked out into the run's workspace before its first step */
  repo_url: string | null;
  repo_branch: string | null;
  repo_token_name: string | null;
  webhook_url: string | null;
  error_webhook_url: string | null;
  /** Names of environment variables of tools, each with the name of the stored token that it gets in these runs */
  credential_overrides: {
    [name: string]: string;
  };
  budget: BudgetOutput | null;
  /** The most seconds that one request to a model may take. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_TOTAL_SECONDS`) */
  model_total_seconds: number | null;
  /** The most seconds in which nothing of an answer arrives. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_SILENCE_SECONDS`) */
  model_silence_seconds: number | null;
  /** What to do with a prompt while a run is in progress: `enqueue` runs it afterwards, `reject` refuses it, `interrupt` halts the run, `steer` lets the run read the prompt at its next step (schedules enqueue theirs). Of several prompts that interrupt, only the newest runs; the others end `halted` with `superseded` */
  on_busy: 'enqueue' | 'reject' | 'interrupt' | 'steer';
  /** What a run knows of earlier ones. `none`: nothing. `thread`: each prompt is a turn of a conversation, a new one or that of its `thread_id`, and its model reads the turns before. Threads of a workflow run next to each other; `on_busy` decides within each */
  remember: 'none' | 'thread';
  /** What happens to prompts that wait when the workflow is switched off: `halt` ends them with `workflow_inactive`, `wait` keeps them until it is switched on. The run in progress continues */
  on_inactive: 'halt' | 'wait';
  /** Login of the owner */
  owner: string;
  status: 'active' | 'running' | 'waiting' | 'completed' | 'failed' | 'halted' | 'inactive';
  /** Whether it takes prompts: false when `status` is inactive */
  enabled: boolean;
  /** Stored tokens it names that you cannot use: they do not exist, or are not yours. Runs refuse it */
  needs?: string[];
  current_turn: number;
  /** Tasks created so far, including those that were removed since */
  task_count: number;
  last_task_status: string | null;
  last_task_at: string | null;
  /** Of the last run */
  usage: Usage;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  /** Of the last run; empty if it was removed (`RETENTION_DAYS`) */
  messages: TranscriptMessage[];
  logs: LogEntry[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

export type WorkflowCreate = {
  /** Identifier issued by the service (UUIDv7) */
  agent_id: string;
  /** Null: the agent's, then the provider's */
  model?: string | null;
  title?: string | null;
  /** Tool calls that a run may make; each is one turn */
  max_turns?: number;
  skill_ids?: string[];
  skill_tags?: string[];
  output_format?: 'json' | 'markdown';
  /** JSON Schema (draft 2020-12) of the final answer, which is then JSON whatever `output_format` is. An answer that does not fit is sent back to the model once; if the next one does not fit either, the run fails with `output_invalid` */
  output_schema?: {
    [name: string]: unknown;
  } | null;
  reasoning_effort?: string | null;
  /** Null: the model's default. Anthropic takes at most 1; reasoning models refuse it */
  temperature?: number | null;
  /** Null: the model's default */
  top_p?: number | null;
  /** Of one answer, reasoning included. Null: the model's default */
  max_output_tokens?: number | null;
  /** Texts at which the model stops. OpenAI takes at most 4 */
  stop?: string[];
  /** Whether the model may ask for several tool calls at once. Null: the model's default */
  parallel_tool_calls?: boolean | null;
  /** How soon the vendor answers, and at which price. Null: the vendor's default. Sent to OpenAI and Azure */
  service_tier?: 'auto' | 'default' | 'flex' | 'scale' | 'priority' | null;
  /** How long the answers are. Null: the model's default. Sent to GPT-5 and later at OpenAI and Azure */
  verbosity?: 'low' | 'medium' | 'high' | null;
  /** When the conversation of a run fills the model's context window, a summary replaces its older part. Off: the run fails at that point */
  infinite_session?: boolean;
  /** Runs neither read nor store memories */
  bypass_memory?: boolean;
  /** After a completed run, the model names at most three lasting facts, and later runs are given them */
  auto_memory?: boolean;
  /** The model is given lists of records in tool results as tab-separated values (TSV) if that is shorter than JSON */
  tsv_tool_results?: boolean;
  /** Filler words are removed from the instructions, and the model is asked for a terse answer, to save tokens */
  caveman?: boolean;
  guardrail_ids?: string[];
  guardrail_tags?: string[];
  /** Checked out into the run's workspace before its first step */
  repo_url?: string | null;
  repo_branch?: string | null;
  repo_token_name?: string | null;
  webhook_url?: string | null;
  error_webhook_url?: string | null;
  /** Names of environment variables of tools, each with the name of the stored token that it gets in these runs */
  credential_overrides?: {
    [name: string]: string;
  };
  budget?: Budget | null;
  /** The most seconds that one request to a model may take. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_TOTAL_SECONDS`) */
  model_total_seconds?: number | null;
  /** The most seconds in which nothing of an answer arrives. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_SILENCE_SECONDS`) */
  model_silence_seconds?: number | null;
  /** What to do with a prompt while a run is in progress: `enqueue` runs it afterwards, `reject` refuses it, `interrupt` halts the run, `steer` lets the run read the prompt at its next step (schedules enqueue theirs). Of several prompts that interrupt, only the newest runs; the others end `halted` with `superseded` */
  on_busy?: 'enqueue' | 'reject' | 'interrupt' | 'steer';
  /** What a run knows of earlier ones. `none`: nothing. `thread`: each prompt is a turn of a conversation, a new one or that of its `thread_id`, and its model reads the turns before. Threads of a workflow run next to each other; `on_busy` decides within each */
  remember?: 'none' | 'thread';
  /** What happens to prompts that wait when the workflow is switched off: `halt` ends them with `workflow_inactive`, `wait` keeps them until it is switched on. The run in progress continues */
  on_inactive?: 'halt' | 'wait';
};

export type WorkflowExportBundle = {
  version: string;
  exported_at: string;
  resource_type: 'workflow';
  items: ExportedWorkflowOutput[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** Items as an export bundle holds them */
export type WorkflowImport = {
  version?: string;
  exported_at?: string;
  resource_type?: 'workflow';
  items: ExportedWorkflow[];
};

export type WorkflowSummary = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** Identifier issued by the service (UUIDv7) */
  agent_id: string;
  /** Null: the agent's, then the provider's */
  model: string | null;
  title: string | null;
  /** Tool calls that a run may make; each is one turn */
  max_turns: number;
  skill_ids: string[];
  skill_tags: string[];
  output_format: 'json' | 'markdown';
  /** JSON Schema (draft 2020-12) of the final answer, which is then JSON whatever `output_format` is. An answer that does not fit is sent back to the model once; if the next one does not fit either, the run fails with `output_invalid` */
  output_schema: {
    [name: string]: unknown;
  } | null;
  reasoning_effort: string | null;
  /** Null: the model's default. Anthropic takes at most 1; reasoning models refuse it */
  temperature: number | null;
  /** Null: the model's default */
  top_p: number | null;
  /** Of one answer, reasoning included. Null: the model's default */
  max_output_tokens: number | null;
  /** Texts at which the model stops. OpenAI takes at most 4 */
  stop: string[];
  /** Whether the model may ask for several tool calls at once. Null: the model's default */
  parallel_tool_calls: boolean | null;
  /** How soon the vendor answers, and at which price. Null: the vendor's default. Sent to OpenAI and Azure */
  service_tier: 'auto' | 'default' | 'flex' | 'scale' | 'priority' | null;
  /** How long the answers are. Null: the model's default. Sent to GPT-5 and later at OpenAI and Azure */
  verbosity: 'low' | 'medium' | 'high' | null;
  /** When the conversation of a run fills the model's context window, a summary replaces its older part. Off: the run fails at that point */
  infinite_session: boolean;
  /** Runs neither read nor store memories */
  bypass_memory: boolean;
  /** After a completed run, the model names at most three lasting facts, and later runs are given them */
  auto_memory: boolean;
  /** The model is given lists of records in tool results as tab-separated values (TSV) if that is shorter than JSON */
  tsv_tool_results: boolean;
  /** Filler words are removed from the instructions, and the model is asked for a terse answer, to save tokens */
  caveman: boolean;
  guardrail_ids: string[];
  guardrail_tags: string[];
  /** Checked out into the run's workspace before its first step */
  repo_url: string | null;
  repo_branch: string | null;
  repo_token_name: string | null;
  webhook_url: string | null;
  error_webhook_url: string | null;
  /** Names of environment variables of tools, each with the name of the stored token that it gets in these runs */
  credential_overrides: {
    [name: string]: string;
  };
  budget: BudgetOutput | null;
  /** The most seconds that one request to a model may take. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_TOTAL_SECONDS`) */
  model_total_seconds: number | null;
  /** The most seconds in which nothing of an answer arrives. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_SILENCE_SECONDS`) */
  model_silence_seconds: number | null;
  /** What to do with a prompt while a run is in progress: `enqueue` runs it afterwards, `reject` refuses it, `interrupt` halts the run, `steer` lets the run read the prompt at its next step (schedules enqueue theirs). Of several prompts that interrupt, only the newest runs; the others end `halted` with `superseded` */
  on_busy: 'enqueue' | 'reject' | 'interrupt' | 'steer';
  /** What a run knows of earlier ones. `none`: nothing. `thread`: each prompt is a turn of a conversation, a new one or that of its `thread_id`, and its model reads the turns before. Threads of a workflow run next to each other; `on_busy` decides within each */
  remember: 'none' | 'thread';
  /** What happens to prompts that wait when the workflow is switched off: `halt` ends them with `workflow_inactive`, `wait` keeps them until it is switched on. The run in progress continues */
  on_inactive: 'halt' | 'wait';
  /** Login of the owner */
  owner: string;
  status: 'active' | 'running' | 'waiting' | 'completed' | 'failed' | 'halted' | 'inactive';
  /** Whether it takes prompts: false when `status` is inactive */
  enabled: boolean;
  /** Stored tokens it names that you cannot use: they do not exist, or are not yours. Runs refuse it */
  needs?: string[];
  current_turn: number;
  /** Tasks created so far, including those that were removed since */
  task_count: number;
  last_task_status: string | null;
  last_task_at: string | null;
  /** Of the last run */
  usage: Usage;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
};

export type WorkflowUpdate = {
  /** Identifier issued by the service (UUIDv7) */
  agent_id?: string;
  model?: string | null;
  title?: string | null;
  max_turns?: number;
  skill_ids?: string[];
  skill_tags?: string[];
  output_format?: 'json' | 'markdown';
  output_schema?: {
    [name: string]: unknown;
  } | null;
  reasoning_effort?: string | null;
  temperature?: number | null;
  top_p?: number | null;
  max_output_tokens?: number | null;
  stop?: string[];
  parallel_tool_calls?: boolean | null;
  service_tier?: 'auto' | 'default' | 'flex' | 'scale' | 'priority' | null;
  verbosity?: 'low' | 'medium' | 'high' | null;
  infinite_session?: boolean;
  bypass_memory?: boolean;
  auto_memory?: boolean;
  tsv_tool_results?: boolean;
  caveman?: boolean;
  guardrail_ids?: string[];
  guardrail_tags?: string[];
  repo_url?: string | null;
  repo_branch?: string | null;
  repo_token_name?: string | null;
  webhook_url?: string | null;
  error_webhook_url?: string | null;
  credential_overrides?: {
    [name: string]: string;
  };
  budget?: Budget | null;
  model_total_seconds?: number | null;
  model_silence_seconds?: number | null;
  on_busy?: 'enqueue' | 'reject' | 'interrupt' | 'steer';
  remember?: 'none' | 'thread';
  on_inactive?: 'halt' | 'wait';
  /** inactive: new prompts are refused. active: they are accepted again. Only runs set the other values; sending the one that the workflow has changes nothing, and any other is refused */
  status?: 'active' | 'running' | 'waiting' | 'completed' | 'failed' | 'halted' | 'inactive';
  /** The same as `status` active or inactive */
  enabled?: boolean;
};

export type WorkflowVersion = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** Never given twice; numbers may be missing */
  number: number;
  /** Its runs' `definition_hash` */
  definition_hash: string;
  /** `saved`: recorded when somebody saved the workflow. `run`: recorded by its first run or evaluation, because the agent or another shared resource had changed, or the prompt overrode a setting */
  origin: 'saved' | 'run';
  /** Login of the person who saved the workflow, or whose run it was */
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** Without those of evaluations */
  runs: number;
  /** The last completed evaluation of the version */
  last_evaluation: VersionEvaluation | null;
  /** Whether the next run would use it */
  current: boolean;
  /** False if only its definition is known: its runs are older than versions */
  restorable: boolean;
};

export type WorkflowVersionDetail = {
  /** Identifier issued by the service (UUIDv7) */
  id: string;
  /** Never given twice; numbers may be missing */
  number: number;
  /** Its runs' `definition_hash` */
  definition_hash: string;
  /** `saved`: recorded when somebody saved the workflow. `run`: recorded by its first run or evaluation, because the agent or another shared resource had changed, or the prompt overrode a setting */
  origin: 'saved' | 'run';
  /** Login of the person who saved the workflow, or whose run it was */
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** Without those of evaluations */
  runs: number;
  /** The last completed evaluation of the version */
  last_evaluation: VersionEvaluation | null;
  /** Whether the next run would use it */
  current: boolean;
  /** False if only its definition is known: its runs are older than versions */
  restorable: boolean;
  definition: VersionDefinition;
  /** With `against`: from that version to this one, field by field */
  changes?: VersionChange[];
  /** Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them */
  warnings?: Warning[];
};

/** What each operation takes and returns. */
export interface Operations {
  /** Delete a session and all its messages */
  'DELETE /api/agents/{agent_id}/chat/sessions/{session_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        agent_id: string;
        /** Identifier issued by the service (UUIDv7) */
        session_id: string;
      };
    };
    reply: null;
  };
  /** Delete an agent */
  'DELETE /api/agents/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete an alert with its history */
  'DELETE /api/alerts/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete a file that no run refers to */
  'DELETE /api/attachments/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete a budget */
  'DELETE /api/budgets/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete a custom tool */
  'DELETE /api/custom-tools/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete a dataset with its items and evaluations */
  'DELETE /api/datasets/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete an item with its results */
  'DELETE /api/datasets/{id}/items/{item_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        /** Identifier issued by the service (UUIDv7) */
        item_id: string;
      };
    };
    reply: null;
  };
  /** Delete a guardrail */
  'DELETE /api/guardrails/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete a key and the keys made with it */
  'DELETE /api/keys/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete a knowledge item */
  'DELETE /api/knowledge-items/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete a knowledge source */
  'DELETE /api/knowledge-sources/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete an MCP server */
  'DELETE /api/mcps/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete the caller's sign-in at a server */
  'DELETE /api/mcps/{id}/sign-in': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete the caller's state of a server */
  'DELETE /api/mcps/{id}/state': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete a memory */
  'DELETE /api/memories/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Return to the catalogue of the release */
  'DELETE /api/models/catalogue': { input: object; reply: CatalogueInUse };
  /** Delete a provider */
  'DELETE /api/providers/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete a schedule; its past runs stay */
  'DELETE /api/scheduled-agents/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete a skill */
  'DELETE /api/skills/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Withdraw a message that was sent to a run */
  'DELETE /api/tasks/{id}/messages/{message_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        /** Identifier issued by the service (UUIDv7) */
        message_id: string;
      };
    };
    reply: MessageReceipt;
  };
  /** Delete a score of a run */
  'DELETE /api/tasks/{id}/scores/{score_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        /** Identifier issued by the service (UUIDv7) */
        score_id: string;
      };
    };
    reply: null;
  };
  /** Delete a thread with its turns */
  'DELETE /api/threads/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Withdraw a message */
  'DELETE /api/threads/{id}/messages/{message_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        /** Identifier issued by the service (UUIDv7) */
        message_id: string;
      };
    };
    reply: MessageReceipt;
  };
  /** Revoke all tokens of a thread */
  'DELETE /api/threads/{id}/tokens': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Delete a stored token */
  'DELETE /api/tokens/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** Revoke a grant, also for runs in progress */
  'DELETE /api/tokens/{id}/grants/{grant_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        /** Identifier issued by the service (UUIDv7) */
        grant_id: string;
      };
    };
    reply: null;
  };
  /** Delete a workflow with its runs */
  'DELETE /api/workflows/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      query?: {
        /** Halt its runs and delete its schedules first */
        force?: boolean;
      };
    };
    reply: null;
  };
  /** Remove a skill from a workflow */
  'DELETE /api/workflows/{id}/skills/{skill_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        /** Identifier issued by the service (UUIDv7) */
        skill_id: string;
      };
    };
    reply: Workflow;
  };
  /** List agents, newest first */
  'GET /api/agents': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Part of the name or description */
        q?: string;
        /** One of its MCP servers’ or knowledge’s tags */
        tag?: string;
        /** Comma separated; any of them */
        tags?: string;
      };
    };
    reply: Agent[];
  };
  /** Export all agents */
  'GET /api/agents/export': { input: object; reply: AgentExportBundle };
  /** List the caller's sessions with an agent, newest first */
  'GET /api/agents/{agent_id}/chat/sessions': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        agent_id: string;
      };
      query?: {
        skip?: number;
        limit?: number;
      };
    };
    reply: ChatSession[];
  };
  /** Get a session with its messages in order */
  'GET /api/agents/{agent_id}/chat/sessions/{session_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        agent_id: string;
        /** Identifier issued by the service (UUIDv7) */
        session_id: string;
      };
    };
    reply: ChatSessionDetail;
  };
  /** Follow a reply */
  'GET /api/agents/{agent_id}/chat/sessions/{session_id}/stream': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        agent_id: string;
        /** Identifier issued by the service (UUIDv7) */
        session_id: string;
      };
      query?: {
        /** The user message whose reply to follow; without it, the one in progress, or with `Last-Event-ID` the last one */
        question_id?: string;
      };
    };
    reply: null;
  };
  /** Get an agent */
  'GET /api/agents/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: Agent;
  };
  /** Export one agent */
  'GET /api/agents/{id}/export': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: AgentExportBundle;
  };
  /** List the caller's alerts, newest first */
  'GET /api/alerts': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Part of the name or description */
        q?: string;
      };
    };
    reply: Alert[];
  };
  /** Get an alert */
  'GET /api/alerts/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: Alert;
  };
  /** List when an alert fired and was resolved, newest first */
  'GET /api/alerts/{id}/events': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
      };
    };
    reply: AlertEvent[];
  };
  /** Describe one of your files */
  'GET /api/attachments/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: Attachment;
  };
  /** Download one of your files */
  'GET /api/attachments/{id}/content': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: string;
  };
  /** List who changed, ran, decided and exported what, newest first */
  'GET /api/audit': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** As `provider:subject` */
        principal?: string;
        /** Identifier issued by the service (UUIDv7) */
        service_key_id?: string;
        operation?: string;
        resource_type?: string;
        /** In the path or in the reply */
        resource_id?: string;
        /** ISO 8601, UTC */
        since?: string;
        /** ISO 8601, UTC */
        until?: string;
      };
    };
    reply: AuditEntry[];
  };
  /** List the budgets that concern the caller, newest first */
  'GET /api/budgets': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Part of the name or description */
        q?: string;
      };
    };
    reply: PeriodBudget[];
  };
  /** Get a budget */
  'GET /api/budgets/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: PeriodBudget;
  };
  /** List the tools that come with this installation */
  'GET /api/builtin-tools': { input: object; reply: BuiltinTool[] };
  /** Follow what changes */
  'GET /api/changes': { input: object; reply: RecordChange };
  /** List custom tools, newest first */
  'GET /api/custom-tools': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Part of the name or description */
        q?: string;
        /** One tag */
        tag?: string;
        /** Comma separated; any of them */
        tags?: string;
      };
    };
    reply: CustomTool[];
  };
  /** Get a custom tool */
  'GET /api/custom-tools/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: CustomTool;
  };
  /** Which stored token fills which variable */
  'GET /api/custom-tools/{id}/env-mapping': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: EnvMapping;
  };
  /** List datasets, newest first */
  'GET /api/datasets': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Part of the name or description */
        q?: string;
      };
    };
    reply: Dataset[];
  };
  /** Get a dataset */
  'GET /api/datasets/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: Dataset;
  };
  /** List the items of a dataset, newest first */
  'GET /api/datasets/{id}/items': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
      };
    };
    reply: DatasetItem[];
  };
  /** List the evaluations of a dataset, newest first */
  'GET /api/datasets/{id}/runs': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Identifier issued by the service (UUIDv7) */
        workflow_id?: string;
        definition_hash?: string;
      };
    };
    reply: Evaluation[];
  };
  /** Get an evaluation, with its regressions */
  'GET /api/datasets/{id}/runs/{run_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        /** Identifier issued by the service (UUIDv7) */
        run_id: string;
      };
    };
    reply: EvaluationDetail;
  };
  /** List the results of an evaluation by item, newest item first */
  'GET /api/datasets/{id}/runs/{run_id}/results': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        /** Identifier issued by the service (UUIDv7) */
        run_id: string;
      };
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        status?: 'pending' | 'running' | 'passed' | 'failed' | 'error' | 'halted';
      };
    };
    reply: EvaluationResult[];
  };
  /** Export skills, guardrails, agents, the caller's workflows and schedules, and knowledge sources */
  'GET /api/export': { input: object; reply: FullExportBundle };
  /** List guardrails, newest first */
  'GET /api/guardrails': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Part of the name or description */
        q?: string;
        /** One tag */
        tag?: string;
        /** Comma separated; any of them */
        tags?: string;
        guardrail_type?: 'prompt' | 'request' | 'output';
      };
    };
    reply: Guardrail[];
  };
  /** Export all guardrails */
  'GET /api/guardrails/export': { input: object; reply: GuardrailExportBundle };
  /** Get a guardrail */
  'GET /api/guardrails/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: Guardrail;
  };
  /** Export one guardrail */
  'GET /api/guardrails/{id}/export': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: GuardrailExportBundle;
  };
  /** List the decisions that the caller's runs wait for, the oldest first */
  'GET /api/inbox': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        kind?: 'approval' | 'question' | 'client' | 'reconciliation' | 'budget' | 'behind';
        /** Identifier issued by the service (UUIDv7) */
        task_id?: string;
        /** Identifier issued by the service (UUIDv7) */
        workflow_id?: string;
        /** Identifier issued by the service (UUIDv7) */
        agent_id?: string;
        /** Part of the name of the tool */
        tool?: string;
      };
    };
    reply: InboxItem[];
  };
  /** List the caller's service keys, newest first */
  'GET /api/keys': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Part of the name or description */
        q?: string;
      };
    };
    reply: ServiceKey[];
  };
  /** Get a service key, without the key itself */
  'GET /api/keys/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: ServiceKey;
  };
  /** List knowledge items, newest first */
  'GET /api/knowledge-items': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Part of the name or description */
        q?: string;
        /** One tag */
        tag?: string;
        /** Comma separated; any of them */
        tags?: string;
        /** Identifier issued by the service (UUIDv7) */
        source_id?: string;
        content_type?: string;
      };
    };
    reply: KnowledgeItem[];
  };
  /** Get a knowledge item */
  'GET /api/knowledge-items/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: KnowledgeItem;
  };
  /** Get an item's text */
  'GET /api/knowledge-items/{id}/content': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: KnowledgeContent;
  };
  /** List knowledge sources, newest first */
  'GET /api/knowledge-sources': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Part of the name or description */
        q?: string;
        /** One tag */
        tag?: string;
        /** Comma separated; any of them */
        tags?: string;
      };
    };
    reply: KnowledgeSource[];
  };
  /** Export all knowledge sources */
  'GET /api/knowledge-sources/export': { input: object; reply: KnowledgeSourceExportBundle };
  /** Get a knowledge source */
  'GET /api/knowledge-sources/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: KnowledgeSource;
  };
  /** Export one knowledge source */
  'GET /api/knowledge-sources/{id}/export': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: KnowledgeSourceExportBundle;
  };
  /** List MCP servers, newest first */
  'GET /api/mcps': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Part of the name or description */
        q?: string;
        /** One tag */
        tag?: string;
        /** Comma separated; any of them */
        tags?: string;
      };
    };
    reply: McpServer[];
  };
  /** Get an MCP server */
  'GET /api/mcps/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: McpServer;
  };
  /** The tools that a server listed last */
  'GET /api/mcps/{id}/tools': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: McpTools;
  };
  /** Whose access token this is */
  'GET /api/me': { input: object; reply: Me };
  /** The caller's own settings */
  'GET /api/me/settings': { input: object; reply: PersonSettings };
  /** List memories, newest first */
  'GET /api/memories': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Part of the key or value */
        q?: string;
        /** Identifier issued by the service (UUIDv7) */
        agent_id?: string;
        scope?: 'session' | 'agent' | 'global';
      };
    };
    reply: Memory[];
  };
  /** An agent's newest memories */
  'GET /api/memories/stm/{agent_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        agent_id: string;
      };
    };
    reply: Memory[];
  };
  /** Get a memory */
  'GET /api/memories/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: Memory;
  };
  /** Models the caller can use */
  'GET /api/models': {
    input: {
      query?: {
        /** Identifier issued by the service (UUIDv7) */
        provider_id?: string;
      };
    };
    reply: Model[];
  };
  /** The catalogue of models in use */
  'GET /api/models/catalogue': { input: object; reply: CatalogueInUse };
  /** List providers, newest first */
  'GET /api/providers': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Part of the name or description */
        q?: string;
      };
    };
    reply: Provider[];
  };
  /** List the vendors whose endpoints are known */
  'GET /api/providers/presets': { input: object; reply: ProviderPreset[] };
  /** Get a provider */
  'GET /api/providers/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: Provider;
  };
  /** List the caller's schedules, newest first */
  'GET /api/scheduled-agents': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Identifier issued by the service (UUIDv7) */
        workflow_id?: string;
        q?: string;
      };
    };
    reply: ScheduledAgent[];
  };
  /** Export all scheduled agents */
  'GET /api/scheduled-agents/export': { input: object; reply: ScheduledAgentExportBundle };
  /** Get a schedule */
  'GET /api/scheduled-agents/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: ScheduledAgent;
  };
  /** Export one scheduled agent */
  'GET /api/scheduled-agents/{id}/export': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: ScheduledAgentExportBundle;
  };
  /** List the outcome of each time the schedule was due, newest first */
  'GET /api/scheduled-agents/{id}/runs': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      query?: {
        /** Items per page */
        limit?: number;
        before?: string;
      };
    };
    reply: ScheduleFire[];
  };
  /** List when a schedule is due next, as if it was enabled */
  'GET /api/scheduled-agents/{id}/upcoming': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      query?: {
        count?: number;
      };
    };
    reply: DueTimes;
  };
  /** List skills, newest first */
  'GET /api/skills': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Part of the name or description */
        q?: string;
        /** One tag */
        tag?: string;
        /** Comma separated; any of them */
        tags?: string;
      };
    };
    reply: Skill[];
  };
  /** Export all skills */
  'GET /api/skills/export': { input: object; reply: SkillExportBundle };
  /** Get a skill */
  'GET /api/skills/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: Skill;
  };
  /** Export one skill */
  'GET /api/skills/{id}/export': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: SkillExportBundle;
  };
  /** How the installation is: workers, queues, storage, failures */
  'GET /api/system': { input: object; reply: System };
  /** List runs of the caller's workflows, newest first */
  'GET /api/tasks': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        status?: 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'halted';
        /** Identifier issued by the service (UUIDv7) */
        workflow_id?: string;
        /** Identifier issued by the service (UUIDv7) */
        agent_id?: string;
        /** The turns of a conversation, of all its branches */
        thread_id?: string;
        /** Created then or later */
        since?: string;
        /** Created before */
        until?: string;
        error_code?: string;
        model?: string;
        /** Name of a tool that the run called */
        tool?: string;
        trigger?: string;
        definition_hash?: string;
        /** Number of a version of the workflow: needs `workflow_id` */
        version?: number;
        /** US dollars */
        min_cost?: number;
        /** US dollars */
        max_cost?: number;
        /** Parts of the prompt, the answer, the error or the id: all of them, `"a phrase"`, `-without`, `this or that`. One or two letters are found at the beginning of a word. The first 50,000 characters of a text are searched */
        q?: string;
        /** By cost, duration or tokens: the largest first */
        sort?: 'newest' | 'oldest' | 'cost' | 'duration' | 'tokens';
        /** Count no more than this many: if `X-Total-Count` is this number, there may be more. Left out: all are counted, which takes a while if hundreds of thousands match */
        count_to?: number;
      };
    };
    reply: Task[];
  };
  /** Why runs ended early: their error codes, the most frequent first */
  'GET /api/tasks/errors': {
    input: {
      query?: {
        status?: 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'halted';
        /** Identifier issued by the service (UUIDv7) */
        workflow_id?: string;
        /** Identifier issued by the service (UUIDv7) */
        agent_id?: string;
        /** The turns of a conversation, of all its branches */
        thread_id?: string;
        /** Created then or later */
        since?: string;
        /** Created before */
        until?: string;
        error_code?: string;
        model?: string;
        /** Name of a tool that the run called */
        tool?: string;
        trigger?: string;
        definition_hash?: string;
        /** Number of a version of the workflow: needs `workflow_id` */
        version?: number;
        /** US dollars */
        min_cost?: number;
        /** US dollars */
        max_cost?: number;
        /** Parts of the prompt, the answer, the error or the id: all of them, `"a phrase"`, `-without`, `this or that`. One or two letters are found at the beginning of a word. The first 50,000 characters of a text are searched */
        q?: string;
      };
    };
    reply: ErrorGroup[];
  };
  /** List runs of one workflow, newest first */
  'GET /api/tasks/workflow/{workflow_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        workflow_id: string;
      };
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        status?: 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'halted';
        /** Identifier issued by the service (UUIDv7) */
        agent_id?: string;
        /** The turns of a conversation, of all its branches */
        thread_id?: string;
        /** Created then or later */
        since?: string;
        /** Created before */
        until?: string;
        error_code?: string;
        model?: string;
        /** Name of a tool that the run called */
        tool?: string;
        trigger?: string;
        definition_hash?: string;
        /** Number of a version of the workflow: needs `workflow_id` */
        version?: number;
        /** US dollars */
        min_cost?: number;
        /** US dollars */
        max_cost?: number;
        /** Parts of the prompt, the answer, the error or the id: all of them, `"a phrase"`, `-without`, `this or that`. One or two letters are found at the beginning of a word. The first 50,000 characters of a text are searched */
        q?: string;
        /** By cost, duration or tokens: the largest first */
        sort?: 'newest' | 'oldest' | 'cost' | 'duration' | 'tokens';
        /** Count no more than this many: if `X-Total-Count` is this number, there may be more. Left out: all are counted, which takes a while if hundreds of thousands match */
        count_to?: number;
      };
    };
    reply: Task[];
  };
  /** Get a run, with its messages and logs */
  'GET /api/tasks/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      query?: {
        /** What comes with the run: any of messages, logs, steps, comma separated; empty for none of them */
        include?: string;
      };
    };
    reply: TaskDetail;
  };
  /** A whole run as one document */
  'GET /api/tasks/{id}/bundle': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: RunBundle;
  };
  /** Get the receipt of a message that was sent to a run */
  'GET /api/tasks/{id}/messages/{message_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        /** Identifier issued by the service (UUIDv7) */
        message_id: string;
      };
    };
    reply: MessageReceipt;
  };
  /** The agent's to-do list */
  'GET /api/tasks/{id}/progress': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: TaskProgress;
  };
  /** List the scores of a run, newest first */
  'GET /api/tasks/{id}/scores': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
      };
    };
    reply: Score[];
  };
  /** What a run did, step by step */
  'GET /api/tasks/{id}/steps': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: TaskStep[];
  };
  /** One step of a run */
  'GET /api/tasks/{id}/steps/{step}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        /** Number of the step, from 1 */
        step: string;
      };
    };
    reply: TaskStep;
  };
  /** What the model saw at a step */
  'GET /api/tasks/{id}/steps/{step}/request': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        /** Number of the step, from 1 */
        step: string;
      };
    };
    reply: StepRequest;
  };
  /** When a run did what */
  'GET /api/tasks/{id}/timeline': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: RunSpan[];
  };
  /** List the messages sent at the end of a run, with every attempt */
  'GET /api/tasks/{id}/webhooks': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: WebhookDelivery[];
  };
  /** List threads, newest first */
  'GET /api/threads': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Identifier issued by the service (UUIDv7) */
        workflow_id?: string;
        /** Identifier issued by the service (UUIDv7) */
        agent_id?: string;
        pinned?: boolean;
        /** A part of the title */
        q?: string;
      };
    };
    reply: Thread[];
  };
  /** Get a thread */
  'GET /api/threads/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: Thread;
  };
  /** Connect an AG-UI client to a thread */
  'GET /api/threads/{id}/ag-ui': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      query?: {
        /** The most turns, the newest ones of the branch in use */
        turns?: number;
      };
    };
    reply: AgUiEvent;
  };
  /** List the messages that were sent to a thread, newest first */
  'GET /api/threads/{id}/messages': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
      };
    };
    reply: MessageReceipt[];
  };
  /** Get the receipt of a message */
  'GET /api/threads/{id}/messages/{message_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        /** Identifier issued by the service (UUIDv7) */
        message_id: string;
      };
    };
    reply: MessageReceipt;
  };
  /** Stream the last answer again, for useChat */
  'GET /api/threads/{id}/ui': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: null;
  };
  /** List the messages of a thread for useChat, oldest first */
  'GET /api/threads/{id}/ui/messages': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      query?: {
        /** The most turns, the newest ones of the branch in use */
        turns?: number;
      };
    };
    reply: UiMessage[];
  };
  /** Stream the last answer again, at the path that useChat asks by default */
  'GET /api/threads/{id}/ui/{chat_id}/stream': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        chat_id: string;
      };
    };
    reply: null;
  };
  /** List stored tokens, newest first */
  'GET /api/tokens': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Part of the name or description */
        q?: string;
      };
    };
    reply: StoredToken[];
  };
  /** Get a stored token */
  'GET /api/tokens/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: StoredToken;
  };
  /** List where your token may go, and where it is requested */
  'GET /api/tokens/{id}/grants': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: TokenGrant[];
  };
  /** List when your token was used or refused, newest first */
  'GET /api/tokens/{id}/uses': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
      };
    };
    reply: TokenUse[];
  };
  /** What runs spent and how they ended */
  'GET /api/usage': {
    input: {
      query?: {
        /** Begin of the period, rounded down to the hour; a week before its end if left out */
        from?: string;
        /** End of the period; now if left out */
        to?: string;
        /** `all`: everybody's runs, for administrators */
        scope?: 'mine' | 'all';
        /** One row for each; by `owner` only with `scope=all` */
        by?: 'agent' | 'workflow' | 'model' | 'provider' | 'owner' | 'trigger';
        /** One row for each of them in which a run ended */
        interval?: 'hour' | 'day';
        /** The time zone in which days begin. Usage is kept by the hour in UTC */
        zone?: string;
        /** Groups in the reply, those with the highest cost; all others are one group with the key null */
        most?: number;
      };
    };
    reply: UsageReport;
  };
  /** How often models were called, how long they took and how often they failed */
  'GET /api/usage/models': {
    input: {
      query?: {
        /** Begin of the period, rounded down to the hour; a week before its end if left out */
        from?: string;
        /** End of the period; now if left out */
        to?: string;
        /** `all`: everybody's runs, for administrators */
        scope?: 'mine' | 'all';
        /** Rows, those with the most calls */
        most?: number;
      };
    };
    reply: ModelUsage;
  };
  /** How often tools were called, how long they took and how often they failed */
  'GET /api/usage/tools': {
    input: {
      query?: {
        /** Begin of the period, rounded down to the hour; a week before its end if left out */
        from?: string;
        /** End of the period; now if left out */
        to?: string;
        /** `all`: everybody's runs, for administrators */
        scope?: 'mine' | 'all';
        /** Rows, those with the most calls */
        most?: number;
      };
    };
    reply: ToolUsage;
  };
  /** What the caller's webhooks are signed with, without the secret */
  'GET /api/webhook-secret': { input: object; reply: WebhookSecret };
  /** List the caller's workflows, newest first */
  'GET /api/workflows': {
    input: {
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
        /** Part of the name or description */
        q?: string;
        /** Identifier issued by the service (UUIDv7) */
        agent_id?: string;
        status?: 'active' | 'running' | 'waiting' | 'completed' | 'failed' | 'halted' | 'inactive';
        /** List the workflows that were made for one request at /v1 or /mcp instead */
        single_use?: boolean;
      };
    };
    reply: WorkflowSummary[];
  };
  /** Export all workflows */
  'GET /api/workflows/export': { input: object; reply: WorkflowExportBundle };
  /** Get a workflow */
  'GET /api/workflows/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: Workflow;
  };
  /** Export one workflow */
  'GET /api/workflows/{id}/export': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: WorkflowExportBundle;
  };
  /** Scores of a workflow's runs, by version */
  'GET /api/workflows/{id}/scores': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: VersionScores[];
  };
  /** Follow the events of a workflow */
  'GET /api/workflows/{id}/stream': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      query?: {
        /** Like Last-Event-ID, which counts more: everything after this number */
        after?: number;
        /** Only this run; the stream ends after its last event */
        task_id?: string;
      };
    };
    reply: null;
  };
  /** List the versions of a workflow, newest first */
  'GET /api/workflows/{id}/versions': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      query?: {
        /** Items per page */
        limit?: number;
        /** Opaque; from the Link header of the previous page */
        cursor?: string;
      };
    };
    reply: WorkflowVersion[];
  };
  /** Get a version, and what changed since another one */
  'GET /api/workflows/{id}/versions/{number}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        number: number;
      };
      query?: {
        /** The number of an earlier version to compare with, or `current`: what the next run would use */
        against?: 'current' | number;
      };
    };
    reply: WorkflowVersionDetail;
  };
  /** Change a schedule */
  'PATCH /api/scheduled-agents/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: ScheduledAgentUpdate;
    };
    reply: ScheduledAgent;
  };
  /** Switch a schedule off without deleting it */
  'PATCH /api/scheduled-agents/{id}/disable': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: ScheduledAgent;
  };
  /** Switch a schedule on */
  'PATCH /api/scheduled-agents/{id}/enable': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: ScheduledAgent;
  };
  /** Create an agent */
  'POST /api/agents': { input: { body: AgentCreate }; reply: Agent };
  /** Import agents */
  'POST /api/agents/import': {
    input: {
      query?: {
        /** Report what would be done, and do nothing */
        dry_run?: boolean;
      };
      body: AgentImport;
    };
    reply: ImportResult;
  };
  /** Send a message and stream the reply */
  'POST /api/agents/{agent_id}/chat': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        agent_id: string;
      };
      body: ChatRequest;
    };
    reply: ChatEvent;
  };
  /** Stop the reply in progress */
  'POST /api/agents/{agent_id}/chat/sessions/{session_id}/stop': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        agent_id: string;
        /** Identifier issued by the service (UUIDv7) */
        session_id: string;
      };
    };
    reply: ChatStop;
  };
  /** Watch a measure of your runs */
  'POST /api/alerts': { input: { body: AlertCreate }; reply: Alert };
  /** Send a test message to each address of an alert, once */
  'POST /api/alerts/{id}/test': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: AlertTest;
  };
  /** Upload a file for a prompt */
  'POST /api/attachments': { input: { body: FormData }; reply: Attachment };
  /** Limit what is spent on models in a day, week or month */
  'POST /api/budgets': { input: { body: PeriodBudgetCreate }; reply: PeriodBudget };
  /** Create a custom tool */
  'POST /api/custom-tools': { input: { body: CustomToolCreate }; reply: CustomTool };
  /** Create a tool from a .py file named after its function */
  'POST /api/custom-tools/upload': { input: { body: FormData }; reply: CustomTool };
  /** Check a tool file without storing or running it */
  'POST /api/custom-tools/validate': { input: { body: ToolValidationRequest }; reply: ToolValidation };
  /** Run a tool once */
  'POST /api/custom-tools/{id}/run': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: ToolRunRequest;
    };
    reply: ToolRunResult;
  };
  /** Create a dataset */
  'POST /api/datasets': { input: { body: DatasetCreate }; reply: Dataset };
  /** Add an item, or a run as an item */
  'POST /api/datasets/{id}/items': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: DatasetItemCreate;
    };
    reply: DatasetItem;
  };
  /** Add the run of a bundle as an item */
  'POST /api/datasets/{id}/items/import': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: DatasetBundle;
    };
    reply: DatasetItem;
  };
  /** Run a dataset against a version of a workflow */
  'POST /api/datasets/{id}/runs': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: EvaluationCreate;
    };
    reply: Evaluation;
  };
  /** Halt an evaluation and its runs */
  'POST /api/datasets/{id}/runs/{run_id}/halt': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        /** Identifier issued by the service (UUIDv7) */
        run_id: string;
      };
    };
    reply: EvaluationHaltRequested;
  };
  /** Create a guardrail */
  'POST /api/guardrails': { input: { body: GuardrailCreate }; reply: Guardrail };
  /** Import guardrails */
  'POST /api/guardrails/import': {
    input: {
      query?: {
        /** Report what would be done, and do nothing */
        dry_run?: boolean;
      };
      body: GuardrailImport;
    };
    reply: ImportResult;
  };
  /** Try a text against a guardrail */
  'POST /api/guardrails/{id}/check': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: GuardrailCheckRequest;
    };
    reply: GuardrailCheck;
  };
  /** Import a full bundle */
  'POST /api/import': {
    input: {
      query?: {
        /** Report what would be done, and do nothing */
        dry_run?: boolean;
      };
      body: FullImport;
    };
    reply: BundleImportResult;
  };
  /** Create a service key */
  'POST /api/keys': { input: { body: ServiceKeyCreate }; reply: NewServiceKey };
  /** Replace a key by a new one with the same rights */
  'POST /api/keys/{id}/rotate': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: ServiceKeyRotate;
    };
    reply: RotatedServiceKey;
  };
  /** Create a knowledge item */
  'POST /api/knowledge-items': { input: { body: KnowledgeItemCreate }; reply: KnowledgeItem };
  /** Search by words and by meaning */
  'POST /api/knowledge-items/query': { input: { body: KnowledgeQuery }; reply: KnowledgeAnswer };
  /** Create an item from a file: pdf, docx, html, md, csv, txt, json */
  'POST /api/knowledge-items/upload': {
    input: {
      query?: {
        /** Identifier issued by the service (UUIDv7) */
        source_id?: string;
        name?: string;
        tags?: string;
      };
      body: FormData;
    };
    reply: KnowledgeItem;
  };
  /** Create a knowledge source */
  'POST /api/knowledge-sources': { input: { body: KnowledgeSourceCreate }; reply: KnowledgeSource };
  /** Import knowledge sources */
  'POST /api/knowledge-sources/import': {
    input: {
      query?: {
        /** Report what would be done, and do nothing */
        dry_run?: boolean;
      };
      body: KnowledgeSourceImport;
    };
    reply: ImportResult;
  };
  /** Test whether a source can be searched */
  'POST /api/knowledge-sources/{id}/test': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: KnowledgeTest;
  };
  /** Create an MCP server */
  'POST /api/mcps': { input: { body: McpServerCreate }; reply: McpServer };
  /** Create servers from the common mcpServers JSON */
  'POST /api/mcps/import': { input: { body: McpImport }; reply: ImportResult };
  /** Finish to sign in to a server */
  'POST /api/mcps/sign-in': { input: { body: McpSignInAnswer }; reply: McpSignInFinished };
  /** Ask a server for its prompts */
  'POST /api/mcps/{id}/prompts': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: McpPrompts;
  };
  /** Have a server fill in one of its prompts */
  'POST /api/mcps/{id}/prompts/fill': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: McpPromptFill;
    };
    reply: McpPromptText;
  };
  /** Begin to sign in to a server */
  'POST /api/mcps/{id}/sign-in': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: McpSignInBegun;
  };
  /** Connect to a server and ask for its tools */
  'POST /api/mcps/{id}/test': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: McpTest;
  };
  /** Ask a server for its tools */
  'POST /api/mcps/{id}/tools/refresh': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: McpTools;
  };
  /** Create a memory */
  'POST /api/memories': { input: { body: MemoryCreate }; reply: Memory };
  /** Search what an agent remembers */
  'POST /api/memories/search': { input: { body: MemorySearch }; reply: MemoryFound[] };
  /** Replace the catalogue of models */
  'POST /api/models/catalogue': { input: { body: CatalogueUpdate }; reply: CatalogueInUse };
  /** Create a provider */
  'POST /api/providers': { input: { body: ProviderCreate }; reply: Provider };
  /** Test a provider that is not stored yet */
  'POST /api/providers/test': { input: { body: ProviderDraft }; reply: ProviderTest };
  /** Test a provider */
  'POST /api/providers/{id}/test': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: ProviderTest;
  };
  /** Run a workflow at an interval or by a cron expression */
  'POST /api/scheduled-agents': { input: { body: ScheduledAgentCreate }; reply: ScheduledAgent };
  /** Import scheduled agents */
  'POST /api/scheduled-agents/import': {
    input: {
      query?: {
        /** Report what would be done, and do nothing */
        dry_run?: boolean;
      };
      body: ScheduledAgentImport;
    };
    reply: ImportResult;
  };
  /** List when a schedule with these settings would be due, without saving one */
  'POST /api/scheduled-agents/preview': { input: { body: SchedulePreview }; reply: DueTimes };
  /** Run the due times of a past range that have no run */
  'POST /api/scheduled-agents/{id}/backfill': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: ScheduleBackfill;
    };
    reply: BackfilledSchedule;
  };
  /** Run a schedule now, enabled or not */
  'POST /api/scheduled-agents/{id}/trigger': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: ScheduleFire;
  };
  /** Create a skill */
  'POST /api/skills': { input: { body: SkillCreate }; reply: Skill };
  /** Import skills */
  'POST /api/skills/import': {
    input: {
      query?: {
        /** Report what would be done, and do nothing */
        dry_run?: boolean;
      };
      body: SkillImport;
    };
    reply: ImportResult;
  };
  /** Answer what a tool asks while it runs */
  'POST /api/tasks/{id}/answers/{call_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        call_id: string;
      };
      body: AnswerRequest;
    };
    reply: Task;
  };
  /** Approve or deny a tool call that waits for a person */
  'POST /api/tasks/{id}/approvals/{call_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        call_id: string;
      };
      body: ApprovalDecision;
    };
    reply: Task;
  };
  /** Change the budget of a run in progress */
  'POST /api/tasks/{id}/budget': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: Budget;
    };
    reply: Task;
  };
  /** Resume or fail a run whose record is older than the run */
  'POST /api/tasks/{id}/continuity': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: ContinuityDecision;
    };
    reply: Task;
  };
  /** Fork a run at one of its steps */
  'POST /api/tasks/{id}/fork': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: ForkRequest;
    };
    reply: ForkAccepted;
  };
  /** Decide about a tool call that may have taken effect */
  'POST /api/tasks/{id}/reconciliations/{call_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        call_id: string;
      };
      body: ReconciliationDecision;
    };
    reply: Task;
  };
  /** Score a run: a thumb or a number, with a note */
  'POST /api/tasks/{id}/scores': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: ScoreCreate;
    };
    reply: Score;
  };
  /** Stop a running, waiting or pending run */
  'POST /api/tasks/{id}/stop': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: StopRequested;
  };
  /** Deliver a message again */
  'POST /api/tasks/{id}/webhooks/{delivery_id}/redeliver': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        delivery_id: string;
      };
    };
    reply: WebhookDelivery;
  };
  /** Create a thread without a turn */
  'POST /api/threads': { input: { body: ThreadCreate }; reply: Thread };
  /** Run the agent of a thread for an AG-UI client */
  'POST /api/threads/{id}/ag-ui': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: AgUiRunInput;
    };
    reply: AgUiEvent;
  };
  /** Send a message to a thread */
  'POST /api/threads/{id}/messages': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: MessageCreate;
    };
    reply: MessageReceipt;
  };
  /** Create a token for a page */
  'POST /api/threads/{id}/tokens': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: ThreadTokenCreate;
    };
    reply: NewThreadToken;
  };
  /** Send a message from useChat and stream the answer */
  'POST /api/threads/{id}/ui': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: UiChatRequest;
    };
    reply: UiChunk;
  };
  /** Create a stored token */
  'POST /api/tokens': { input: { body: StoredTokenCreate }; reply: StoredToken };
  /** Grant a resource your token */
  'POST /api/tokens/{id}/grants': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: TokenGrantCreate;
    };
    reply: TokenGrant;
  };
  /** Make a new secret for the caller's webhooks */
  'POST /api/webhook-secret/rotate': { input: object; reply: NewWebhookSecret };
  /** Create a workflow */
  'POST /api/workflows': { input: { body: WorkflowCreate }; reply: Workflow };
  /** Import workflows */
  'POST /api/workflows/import': {
    input: {
      query?: {
        /** Report what would be done, and do nothing */
        dry_run?: boolean;
      };
      body: WorkflowImport;
    };
    reply: ImportResult;
  };
  /** Stop the run in progress */
  'POST /api/workflows/{id}/halt': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
    };
    reply: HaltRequested;
  };
  /** Start a run */
  'POST /api/workflows/{id}/prompt': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: PromptRequest;
    };
    reply: PromptAccepted;
  };
  /** Install a skill on a workflow */
  'POST /api/workflows/{id}/skills/{skill_id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        /** Identifier issued by the service (UUIDv7) */
        skill_id: string;
      };
    };
    reply: Workflow;
  };
  /** Set a workflow back to a version */
  'POST /api/workflows/{id}/versions/{number}/restore': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
        number: number;
      };
      body: RestoreRequest;
    };
    reply: RestoredVersion;
  };
  /** Change an agent */
  'PUT /api/agents/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: AgentUpdate;
    };
    reply: Agent;
  };
  /** Change an alert */
  'PUT /api/alerts/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: AlertUpdate;
    };
    reply: Alert;
  };
  /** Change a budget */
  'PUT /api/budgets/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: PeriodBudgetUpdate;
    };
    reply: PeriodBudget;
  };
  /** Change a custom tool */
  'PUT /api/custom-tools/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: CustomToolUpdate;
    };
    reply: CustomTool;
  };
  /** Fill declared variables from stored tokens */
  'PUT /api/custom-tools/{id}/env-mapping': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: EnvMappingUpdate;
    };
    reply: EnvMapping;
  };
  /** Change a dataset */
  'PUT /api/datasets/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: DatasetUpdate;
    };
    reply: Dataset;
  };
  /** Change a guardrail */
  'PUT /api/guardrails/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: GuardrailUpdate;
    };
    reply: Guardrail;
  };
  /** Change a knowledge item */
  'PUT /api/knowledge-items/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: KnowledgeItemUpdate;
    };
    reply: KnowledgeItem;
  };
  /** Change a knowledge source */
  'PUT /api/knowledge-sources/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: KnowledgeSourceUpdate;
    };
    reply: KnowledgeSource;
  };
  /** Change an MCP server */
  'PUT /api/mcps/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: McpServerUpdate;
    };
    reply: McpServer;
  };
  /** Choose which tools of a server may be used */
  'PUT /api/mcps/{id}/tools': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: McpAllowList;
    };
    reply: McpServer;
  };
  /** Change the caller's own settings */
  'PUT /api/me/settings': { input: { body: PersonSettingsUpdate }; reply: PersonSettings };
  /** Change a memory */
  'PUT /api/memories/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: MemoryUpdate;
    };
    reply: Memory;
  };
  /** Change a provider */
  'PUT /api/providers/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: ProviderUpdate;
    };
    reply: Provider;
  };
  /** Change a skill */
  'PUT /api/skills/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: SkillUpdate;
    };
    reply: Skill;
  };
  /** Change a thread */
  'PUT /api/threads/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: ThreadUpdate;
    };
    reply: Thread;
  };
  /** Change a stored token */
  'PUT /api/tokens/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: StoredTokenUpdate;
    };
    reply: StoredToken;
  };
  /** Change a workflow */
  'PUT /api/workflows/{id}': {
    input: {
      path: {
        /** Identifier issued by the service (UUIDv7) */
        id: string;
      };
      body: WorkflowUpdate;
    };
    reply: Workflow;
  };
}

/** Operations that honour an Idempotency-Key. */
export const IDEMPOTENT: ReadonlySet<string> = new Set([
  'POST /api/agents',
  'POST /api/agents/{agent_id}/chat',
  'POST /api/alerts',
  'POST /api/budgets',
  'POST /api/custom-tools',
  'POST /api/datasets',
  'POST /api/datasets/{id}/items',
  'POST /api/datasets/{id}/items/import',
  'POST /api/datasets/{id}/runs',
  'POST /api/guardrails',
  'POST /api/knowledge-items',
  'POST /api/knowledge-sources',
  'POST /api/mcps',
  'POST /api/memories',
  'POST /api/providers',
  'POST /api/scheduled-agents',
  'POST /api/scheduled-agents/{id}/backfill',
  'POST /api/scheduled-agents/{id}/trigger',
  'POST /api/skills',
  'POST /api/tasks/{id}/fork',
  'POST /api/tasks/{id}/scores',
  'POST /api/threads',
  'POST /api/threads/{id}/ag-ui',
  'POST /api/threads/{id}/messages',
  'POST /api/threads/{id}/ui',
  'POST /api/tokens',
  'POST /api/workflows',
  'POST /api/workflows/{id}/prompt',
  'POST /api/workflows/{id}/versions/{number}/restore',
]);
