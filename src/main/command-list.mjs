// Every command with its words and options. Help, parsing, completions and docs/cli.md are derived from it. Plain JavaScript, so
// that it is read before anything is installed.

const JSON_OPTION = { json: { help: 'print the result as JSON' } };
const FOLLOW = { follow: { short: 'f', help: 'follow the run until it ends; Ctrl-C stops only the following' } };
const LIMIT = { limit: { value: '<n>', help: 'at most so many' } };

const list = (what, name, note = '') => ({
  summary: `list ${what}${note}`,
  verbs: { ls: { summary: `list ${what}`, options: { ...LIMIT, ...JSON_OPTION }, example: `perdura ${name} ls --limit 20` } },
});

/** What works on this machine's installation or is one of its processes. */
export const LOCAL = {
  dev: { summary: 'the whole installation, with its own servers (npm start)', example: 'perdura dev' },
  demo: { summary: 'a first run against a running installation', example: 'perdura demo' },
  api: { summary: 'the HTTP server; needs DATABASE_URL, TEMPORAL_ADDRESS and ENCRYPTION_KEYS', example: 'perdura api' },
  worker: {
    summary: 'a worker, or one of a part of the work; needs DATABASE_URL, TEMPORAL_ADDRESS and ENCRYPTION_KEYS',
    options: { role: { value: '<role>', help: 'only this part: runs, models or tools; several with commas' } },
    example: 'perdura worker --role models,tools',
  },
  migrate: {
    summary: 'apply database migrations, prepare Temporal, and limit the role of tools workers; needs DATABASE_URL',
    options: {
      'tools-role': { value: '<name>', help: 'the Postgres role of tools workers, which gets only the rights they need' },
      ...JSON_OPTION,
    },
    example: 'perdura migrate --tools-role perdura_tools',
  },
  'rotate-keys': {
    summary: 'seal stored tokens again with the first of ENCRYPTION_KEYS',
    options: { ...JSON_OPTION },
    example: 'perdura rotate-keys',
  },
  backup: {
    summary: 'all of an installation of npm start, also while it runs',
    words: ['file'],
    options: {
      'without-key': { help: 'leave the encryption key out; keep it elsewhere' },
      force: { help: 'replace the file if it exists' },
      ...JSON_OPTION,
    },
    example: 'perdura backup perdura.backup --without-key',
  },
  restore: {
    summary: 'a backup into an empty PERDURA_HOME',
    words: ['file'],
    options: { ...JSON_OPTION },
    example: 'perdura restore perdura.backup',
  },
  tools: {
    summary: 'packages that custom tools may import',
    verbs: {
      install: {
        summary: 'install packages for custom tools',
        words: ['package…'],
        options: { ...JSON_OPTION },
        example: 'perdura tools install humanize requests',
      },
    },
  },
  'mcp-packages': {
    summary: 'packages installed for MCP servers that npx and uvx start',
    verbs: {
      ls: { summary: 'list them', options: { ...JSON_OPTION }, example: 'perdura mcp-packages ls' },
      clear: {
        summary: 'remove all, or one; the next start of its server installs it again',
        words: ['package?'],
        options: { ...JSON_OPTION },
        example: 'perdura mcp-packages clear weather-mcp@1.2.0',
      },
    },
  },
  replay: {
    summary: 'run bundles of runs again, offline; exits with 0 if each is as recorded, 1 if one differs',
    words: ['bundle…'],
    options: { ...JSON_OPTION },
    example: 'perdura replay bundle.json',
  },
  restored: {
    summary: 'after restoring a backup or snapshot: ask before writes are repeated',
    options: { ...JSON_OPTION },
    example: 'perdura restored',
  },
  doctor: { summary: 'report what is unhealthy and why', options: { ...JSON_OPTION }, example: 'perdura doctor' },
};

/** Clients of the API, of an installation anywhere. They need no Python, no database and no dashboard. */
export const REMOTE = {
  login: {
    summary: 'store an address and an access token for the commands below',
    options: {
      url: { value: '<url>', help: 'the installation; by default PERDURA_API_URL' },
      'token-stdin': { help: 'read the access token from stdin instead of asking for it' },
      ...JSON_OPTION,
    },
    example: 'perdura login --url https://perdura.example',
  },
  logout: { summary: 'remove what login stored', options: { ...JSON_OPTION }, example: 'perdura logout' },
  run: {
    summary: 'start a run; the workflow is an id or a title, and the prompt - reads stdin',
    words: ['workflow', 'prompt'],
    options: { ...FOLLOW, ...JSON_OPTION },
    example: 'perdura run "Weekly report" "What changed since Monday?" --follow',
  },
  chat: {
    summary:
      'a conversation with an agent, named by its id or name, or with a workflow; without either, lists your threads. It continues the newest thread. In a terminal, what is typed while a turn works goes to that turn, and Ctrl-C stops it; elsewhere each line of stdin is a message',
    words: ['agent?'],
    options: {
      workflow: { value: '<workflow>', help: 'a workflow with remember: thread, by id or title, instead of an agent' },
      thread: { value: '<id>', help: 'continue this thread' },
      new: { help: 'begin a thread, also if there is one' },
      json: { help: 'print each event of a turn as a line of JSON' },
    },
    example: 'perdura chat "Refund desk"',
  },
  steer: {
    summary: 'send a message to a run that works; the message - reads stdin. The run reads it at its next step',
    words: ['task', 'message'],
    options: {
      wait: { help: 'wait for the outcome; exits with 1 if no run reads the message' },
      ...JSON_OPTION,
    },
    example: 'perdura steer 0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001 "Only the orders of this week"',
  },
  tasks: {
    summary: 'list runs, show one, halt one, or send its prompt again',
    verbs: {
      ls: {
        summary: 'list runs, newest first',
        options: {
          status: { value: '<status>', help: 'only these: pending, running, waiting, completed, failed or halted' },
          workflow: { value: '<workflow>', help: 'only runs of this workflow, by id or title' },
          limit: { value: '<n>', help: 'at most so many; by default 20' },
          ...JSON_OPTION,
        },
        example: 'perdura tasks ls --status waiting',
      },
      show: {
        summary: 'show a run: its status, times, figures and answer',
        words: ['task'],
        options: { ...JSON_OPTION },
        example: 'perdura tasks show 0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001',
      },
      halt: {
        summary: 'ask a run to stop; it ends within seconds and keeps its text',
        words: ['task'],
        options: { ...JSON_OPTION },
        example: 'perdura tasks halt 0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001',
      },
      retry: {
        summary: 'send the prompt of a run, with its files, to its workflow again',
        words: ['task'],
        options: { ...FOLLOW, ...JSON_OPTION },
        example: 'perdura tasks retry 0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001 --follow',
      },
    },
  },
  logs: {
    summary: 'what a run has done',
    words: ['task'],
    options: { ...FOLLOW, ...JSON_OPTION },
    example: 'perdura logs 0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001 -f',
  },
  approve: {
    summary: 'let a tool call that waits be made',
    words: ['task', 'call?'],
    options: { message: { value: '<text>', help: 'a note for the model' }, ...JSON_OPTION },
    example: 'perdura approve 0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001 --message "Go ahead"',
  },
  deny: {
    summary: 'refuse a tool call that waits',
    words: ['task', 'call?'],
    options: { message: { value: '<text>', help: 'a note for the model' }, ...JSON_OPTION },
    example: 'perdura deny 0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001 --message "Ask me first"',
  },
  workflows: list('your workflows', 'workflows'),
  agents: list('agents', 'agents'),
  schedules: list('your schedules', 'schedules'),
  tokens: list('your stored tokens, never their values', 'tokens'),
  keys: list('your service keys, never their values', 'keys'),
  alerts: list('your alerts', 'alerts'),
  budgets: list('the budgets that concern you', 'budgets', ', with what is left of each'),
  export: {
    summary: 'skills, guardrails, agents, your workflows and knowledge sources, without secrets',
    options: {
      output: { value: '<file>', short: 'o', help: 'write to this file; by default stdout' },
      yaml: { help: 'write YAML, as a file named *.yaml or *.yml gets without it' },
      json: { help: 'write JSON, whatever the name of the file' },
    },
    example: 'perdura export --output perdura.yaml',
  },
  import: {
    summary: 'create what an export holds; - reads stdin',
    words: ['file'],
    options: { 'dry-run': { help: 'report what would be created, and create nothing' }, ...JSON_OPTION },
    example: 'perdura import perdura.yaml --dry-run',
  },
  apply: {
    summary: 'create and change resources until they are as declared; shows the difference',
    options: {
      file: { value: '<file or folder>', short: 'f', many: true, help: 'what to apply; may be repeated; - reads stdin' },
      'dry-run': { help: 'show the difference and change nothing; exits with 3 if there is one' },
      prune: { help: 'also delete what is yours, of a kind in the files, and not declared; asks first' },
      yes: { help: 'delete without asking' },
      ...JSON_OPTION,
    },
    example: 'perdura apply -f agents/ --dry-run',
  },
  models: {
    summary: 'the catalogue of models: prices, windows and ends',
    verbs: {
      show: { summary: 'show the catalogue in use', options: { ...JSON_OPTION }, example: 'perdura models show' },
      update: {
        summary: 'replace the catalogue; needs an administrator. - reads stdin',
        words: ['file or URL'],
        options: {
          digest: { value: 'sha256:<digest>', help: 'refuse a catalogue with another digest' },
          force: { help: 'accept a catalogue that is older than the one in use' },
          ...JSON_OPTION,
        },
        example: 'perdura models update models.json',
      },
      reset: {
        summary: 'go back to the catalogue of this version; needs an administrator',
        options: { ...JSON_OPTION },
        example: 'perdura models reset',
      },
    },
  },
  eval: {
    summary:
      'run a dataset against a workflow; exits with 0 if enough pass and none regressed, 1 if not, 2 if it could not finish',
    options: {
      dataset: { value: '<id>', help: 'the dataset' },
      workflow: { value: '<id>', help: 'the workflow' },
      version: {
        value: '<hash>',
        help: 'a version of the workflow (definition_hash of one of its runs); by default as it is now',
      },
      graders: { value: '<file>', help: "a JSON list of graders; by default the answer must equal the item's expected one" },
      effects: { value: '<how>', help: 'of tool calls: recorded (default) or stub' },
      parallel: { value: '<n>', help: 'runs at once; by default 4' },
      baseline: {
        value: '<id>',
        help: 'the evaluation to find regressions against; by default the last completed one of the workflow',
      },
      'pass-rate': { value: '<rate>', help: 'the share that is enough, from 0 to 1; by default 1' },
      json: { help: 'print the evaluation with all results as JSON' },
    },
    example:
      'perdura eval --dataset 0197a0c4-6b1e-7c3a-9f57-0d2c5a1be003 --workflow 0197a0c4-6b1e-7c3a-9f57-0d2c5a1be005 --pass-rate 0.9',
  },
  completions: {
    summary: 'print a completion script for a shell, bash, zsh or fish: source <(perdura completions bash)',
    words: ['shell'],
    choices: ['bash', 'zsh', 'fish'],
    example: 'perdura completions bash',
  },
};

export const COMMANDS = { ...LOCAL, ...REMOTE };
