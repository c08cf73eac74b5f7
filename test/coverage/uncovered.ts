import { UNCOVERED_OF_DASHBOARD } from './uncovered-dashboard.ts';
import { UNCOVERED_OF_RESOURCES } from './uncovered-dashboard-resources.ts';
import { UNCOVERED_OF_INSTALLATION } from './uncovered-installation.ts';

/** A branch that no test takes, known by a part of its line, and the reason. */
export interface Uncovered {
  file: string;
  text: string;
  reason: string;
}

export const UNCOVERED: readonly Uncovered[] = [
  ...UNCOVERED_OF_DASHBOARD,
  ...UNCOVERED_OF_INSTALLATION,
  ...UNCOVERED_OF_RESOURCES,
  {
    file: 'src/api/compat/openai/conversations.ts',
    text: "if (!conversation) throw notFound('conversation', id);",
    reason: 'A conversation that another request deletes between two statements.',
  },
  {
    file: 'src/api/compat/openai/conversations.ts',
    text: 'if (!removed) throw noItem(item_id)',
    reason: 'An item that another request deletes between two statements.',
  },
  {
    file: 'src/api/routes/chat.ts',
    text: '(await store.chat.message(message_id))?.content ?? null',
    reason: 'A session that is deleted while a stored reply of it is sent again.',
  },
  {
    file: 'src/api/routes/chat.ts',
    text: "content === null ? null : { id, data: { type: 'delta', content } }",
    reason: 'A session that is deleted while a stored reply of it is sent again.',
  },
  {
    file: 'src/api/routes/custom-tools.ts',
    text: 'if (error instanceof ToolUnreachable) return { refusal: error.message };',
    reason: 'The processes that check arguments are busy, or end, at this moment.',
  },
  {
    file: 'src/api/routes/mcps.ts',
    text: 'if (!(error instanceof AppError)) throw error;',
    reason: 'Only a defect of this service, or an outage in between, throws anything else here.',
  },
  {
    file: 'src/api/routes/recurrence.ts',
    text: 'if (!(error instanceof AppError)) throw error;',
    reason: 'Only a defect of this service throws anything else here; it must not be reported as an error of an item.',
  },
  {
    file: 'src/api/routes/tasks.ts',
    text: 'if (!(await store.ledger.answerQuestion(',
    reason: 'A question that another request answers between two statements.',
  },
  {
    file: 'src/api/routes/transfer.ts',
    text: 'if (!(error instanceof AppError)) throw error;',
    reason: 'Only a defect of this service, or an outage in between, throws anything else here.',
  },
  {
    file: 'src/egress/dial.ts',
    text: 'return address ?? addresses[0]!.address;',
    reason: 'A peer that resets a connection between its start and the next line.',
  },
  { file: 'src/folders/folder.ts', text: 'const O_PATH = IS_LINUX', reason: 'Only other systems than Linux take it.' },
  {
    file: 'src/folders/folder.ts',
    text: "if (code === 'ENOENT') throw new Error('Workspaces cannot be used",
    reason: 'A Linux without /proc, in which Node itself hardly runs.',
  },
  { file: 'src/folders/folder.ts', text: 'const toDescriptorPath = ({ fd }', reason: 'Only other systems than Linux take it.' },
  { file: 'src/folders/folder.ts', text: 'IS_LINUX ? chmod(toDescriptorPath', reason: 'Only other systems than Linux take it.' },
  { file: 'src/folders/folder.ts', text: '(IS_LINUX ? 0 : O_NOFOLLOW)', reason: 'Only other systems than Linux take it.' },
  {
    file: 'src/folders/remove.ts',
    text: 'const names = (await folder.names().catch(unlessExchanged)) ?? [];',
    reason: 'Another process that removes a folder between two calls.',
  },
  {
    file: 'src/folders/remove.ts',
    text: 'if (!inner) return;',
    reason: 'Another process that removes a folder between two calls.',
  },
  {
    file: 'src/folders/remove.ts',
    text: 'of (await inner.names().catch(unlessExchanged)) ?? [])',
    reason: 'Another process that removes a folder between two calls.',
  },
  {
    file: 'src/folders/remove.ts',
    text: "if (error.code === 'EISDIR' || (await folder.stat(name)",
    reason: 'For a directory, only other systems than Linux answer EPERM; and no test has files that nobody may remove.',
  },
  {
    file: 'src/parsers/child/process.ts',
    text: 'if (getPriority() < NICENESS) setPriority(NICENESS);',
    reason: 'Not taken if coverage is measured with a low priority, as with nice.',
  },
  {
    file: 'src/parsers/child/process.ts',
    text: 'error instanceof Error ? error.message : String(error)',
    reason: 'A library that throws something else than an Error; no input is known that makes one do so.',
  },
  { file: 'src/parsers/process.ts', text: ': []),', reason: 'Only a version of Node without permissions takes it.' },
  {
    file: 'src/parsers/process.ts',
    text: "if (process.platform === 'linux') writeFile(",
    reason: 'Only other systems than Linux take it.',
  },
  {
    file: 'src/store/resources/custom-tools.ts',
    text: 'in: agent?.custom_tool_ids ?? []',
    reason: 'An agent that is deleted between two statements.',
  },
  {
    file: 'src/store/resources/knowledge.ts',
    text: '(await hasExtension()) ? sql.searchPassagesExtended : sql.searchPassages',
    reason: 'The Postgres servers that the tests start come without pgvector.',
  },
  { file: 'src/store/runs/tasks.ts', text: '(task?.todos ?? [])', reason: 'A task that retention removes between two requests.' },
  {
    file: 'src/store/secrets/asking.ts',
    text: 'in: agent?.custom_tool_ids ?? []',
    reason: 'An agent that is deleted between two statements.',
  },
  {
    file: 'src/toolrunner/confinement.ts',
    text: "if (process.platform !== 'linux') throw",
    reason: 'Only other systems than Linux take it.',
  },
  {
    file: 'src/toolrunner/kill-group.ts',
    text: "if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;",
    reason:
      'A process that ends between the look at it and the signal; or one of another user, which the service does not start.',
  },
  {
    file: 'src/tools/mcp/state.ts',
    text: "if (error.code === 'ENOENT') return null;",
    reason: 'A disk that fails while a folder is looked at.',
  },
  {
    file: 'src/tools/workspace-limits.ts',
    text: 'if (ended) return;',
    reason: 'A call that ends while its workspace is being measured.',
  },
  {
    file: 'src/api/compat/client-calls.ts',
    text: "if (calls.some(({ status }) => status === 'planned')) return [];",
    reason: 'A look at the calls of a step while its run parks them one by one.',
  },
  {
    file: 'src/api/routes/recurrence.ts',
    text: 'if (error instanceof CronFault) return',
    reason: 'Only a defect of this service throws anything else here; it must not be reported as an error of a field.',
  },
  {
    file: 'src/api/routes/scheduled-agents.ts',
    text: 'if (!fire) throw notFound(NOUN, id);',
    reason: 'A schedule that another request deletes between two statements.',
  },
  {
    file: 'src/api/routes/scheduled-agents.ts',
    text: 'if (error instanceof AppError) return null;',
    reason: 'An identity provider, or a database, that fails while a schedule is shown.',
  },
  {
    file: 'src/api/routes/workflows.ts',
    text: '(await store.agents.find(workflow.agent_id)) ?? {};',
    reason: 'An agent that is deleted between two statements.',
  },
  {
    file: 'src/api/routes/scheduled-agents.ts',
    text: 'if (!workflow) return [];',
    reason: 'A workflow that another request deletes between two statements.',
  },
  {
    file: 'src/store/resources/budgets.ts',
    text: 'return state ? [toBudget(budget, state)] : [];',
    reason: 'A budget that another request deletes between two statements.',
  },
  {
    file: 'src/store/resources/budgets.ts',
    text: 'return budget ? ((await addStates([budget]))[0] ?? null) : null;',
    reason: 'A budget that another request deletes between two statements.',
  },
  {
    file: 'src/vendor/temporal-internals.ts',
    text: 'if (!call_stacks) v8.promiseHooks.createHook',
    reason: 'It runs in the thread of workflows, which ends without writing what it executed.',
  },
  {
    file: 'src/folders/measure.ts',
    text: "return text === '' ? 'its folder'",
    reason: 'Only an ordinary user takes it, and coverage is measured as root.',
  },
  {
    file: 'src/folders/folder.ts',
    text: "if (error.code !== 'EACCES' || stats.uid !==",
    reason: 'Only an ordinary user takes it, and coverage is measured as root.',
  },
  {
    file: 'src/folders/remove.ts',
    text: "if (error?.code === 'EACCES') {",
    reason: 'Only an ordinary user takes it, and coverage is measured as root.',
  },
  {
    file: 'src/folders/remove.ts',
    text: '} else if (error) unlessExchanged(error);',
    reason: 'Another process that replaces an entry between two calls.',
  },
  {
    file: 'src/folders/walk.ts',
    text: "? walk.miss(at, 'cannot be looked at')",
    reason: 'Only an ordinary user takes it, and coverage is measured as root.',
  },
  {
    file: 'src/folders/walk.ts',
    text: 'if (opened_entry === null) return true;',
    reason: 'Another process that removes an entry between two calls.',
  },
  {
    file: 'src/folders/walk.ts',
    text: "if (opened_entry === CLOSED) return walk.miss(path, 'cannot be read');",
    reason: 'Only an ordinary user takes it, and coverage is measured as root.',
  },
  {
    file: 'src/folders/walk.ts',
    text: 'if (opened_entry === CHANGING) return walk.miss(',
    reason: 'Another process that replaces an entry at each of five looks.',
  },
  {
    file: 'src/folders/walk.ts',
    text: 'if (looks === LOOKS) return CHANGING;',
    reason: 'Another process that replaces an entry at each of five looks.',
  },
  {
    file: 'src/folders/walk.ts',
    text: 'if (!isExchanged(error)) throw error;',
    reason: 'A disk that fails, or a process without descriptors, between two calls.',
  },
  {
    file: 'src/folders/walk.ts',
    text: "if (error.code === 'EACCES' || error.code === 'EPERM') return CLOSED;",
    reason: 'Only an ordinary user takes it, and coverage is measured as root.',
  },
  {
    file: 'src/parsers/process.ts',
    text: 'its process ended (',
    reason: 'Only a defect of the process, or of Node, ends it with an exit code.',
  },
  {
    file: 'src/store/database/silent-connections.ts',
    text: 'if (client.unanswered !== wait.statement) return false;',
    reason: 'An answer that arrives while the server is asked about it.',
  },
  {
    file: 'src/temporal/worker/worker.ts',
    text: 'settings.call_stacks ? StackTracingWorker : WatchedWorker',
    reason: 'Its own test starts a worker of each kind; no test starts a whole service with WORKER_CALL_STACKS.',
  },
  {
    file: 'src/tools/mcp/packages/cache.ts',
    text: "=== 'EEXIST') return false;",
    reason: 'A file system without hard links, or a disk that fails.',
  },
  {
    file: 'src/tools/snapshots/layer.ts',
    text: 'if (process.getuid?.() === 0) await folder.setOwner(',
    reason: 'Only an ordinary user takes it, and coverage is measured as root.',
  },
];
