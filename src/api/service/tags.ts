/** The tags of operations, grouped and in the order in which the reference shows them. */
const TAG_GROUPS: { name: string; tags: Record<string, string> }[] = [
  {
    name: 'Runs',
    tags: {
      Workflows: 'An agent bound to the settings of its runs. Send it a prompt, follow its events, halt it.',
      Tasks: 'One prompt and its run: status, answer, usage, steps. Approve, answer, fork or halt it.',
      Threads: 'Conversations whose turns are runs: each one knows those before it.',
      Chat: 'Conversations with an agent, streamed word by word.',
      'Scheduled agents': 'Prompts that are sent to a workflow at intervals or by cron.',
      Attachments: 'Files that a model is given with a prompt.',
      Webhooks: 'The secret that signs the messages sent at the end of runs.',
    },
  },
  {
    name: 'Agents',
    tags: {
      Agents: 'A system prompt with its model, tools and knowledge, shared by the installation.',
      Providers: 'Endpoints of models and the stored token that opens each.',
      Models: 'The models that can be chosen, and the catalogue of their prices and windows.',
      Skills: 'Texts that are added to the instructions of a run.',
      'Custom tools': 'Python functions that models call, run in a sandbox.',
      'Built-in tools': 'The tools that come with Perdura.',
      'MCP servers': 'Servers of the Model Context Protocol and the tools that they offer.',
      Guardrails: 'Checks of prompts, requests and answers.',
    },
  },
  {
    name: 'Knowledge',
    tags: {
      Knowledge: 'Sources of documents and their items, searched by words and by meaning.',
      Memories: 'Facts that agents keep from one run to the next.',
    },
  },
  {
    name: 'Quality',
    tags: {
      Datasets: 'Prompts with expected answers, and evaluations of a workflow against them.',
      Scores: 'Grades that people and programs give to runs.',
    },
  },
  {
    name: 'Operation',
    tags: {
      Usage: 'Tokens and costs by day, model, workflow or person.',
      Budgets: 'Limits of costs or tokens per period.',
      Alerts: 'Rules over runs and costs that notify when they are crossed.',
      Audit: 'Who changed what, and when.',
      System: 'Workers, queues, storage and failures of the installation, for administrators.',
      Changes: 'A stream of what has changed, so that clients need not poll.',
      Health: 'Whether the service lives and can take requests. Needs no access token.',
    },
  },
  {
    name: 'Access',
    tags: {
      Identity: 'Who the caller is, and their settings.',
      'Stored tokens': 'Secrets that tools, providers and servers use. Their values are never returned.',
      'Service keys': 'Access tokens for programs, with a role and scopes.',
    },
  },
  {
    name: 'Other interfaces',
    tags: {
      'Export and import': 'Bundles of resources, without secrets.',
      'Compatible APIs': 'The interfaces of OpenAI under /v1, and of MCP at /mcp.',
    },
  },
];

/** Returns the tags that operations use, with descriptions, and their groups. A tag without a place comes last. */
export function describeTags(used: Set<string>) {
  const groups = TAG_GROUPS.map(({ name, tags }) => ({ name, tags: Object.keys(tags).filter((tag) => used.has(tag)) }));
  const placed = new Set(groups.flatMap(({ tags }) => tags));
  const others = [...used].filter((tag) => !placed.has(tag));
  const all = [...groups, { name: 'More', tags: others }].filter(({ tags }) => tags.length > 0);
  const descriptions = Object.assign({}, ...TAG_GROUPS.map(({ tags }) => tags)) as Record<string, string>;
  return {
    tags: all.flatMap(({ tags }) => tags.map((name) => ({ name, description: descriptions[name] ?? `${name}.` }))),
    'x-tagGroups': all,
  };
}
