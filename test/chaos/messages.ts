import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { createResources } from '../../src/main/resources.ts';
import { asks, type ModelServer, says, startModelServer } from '../support/peers/model-server.ts';
import type { ChaosOptions } from './chaos.ts';
import { clientOf } from './client.ts';
import { type Counts, injectFaults, killsIn, noFaults } from './faults.ts';
import { type Installation, startInstallation } from './installation.ts';
import type { Verdict } from './invariants.ts';
import { type Conversation, MESSAGE_CHECKS, markOf, type SentMessage } from './message-invariants.ts';
import { type Random, randomOf } from './random.ts';

export interface MessageOptions extends ChaosOptions {
  /** Ends after so many messages. */
  messages: number;
}

/** What clients ask for if a turn is in progress, with how often of 100. */
const POLICIES = [
  ['enqueue', 40],
  ['steer', 35],
  ['interrupt', 10],
  ['reject', 10],
  ['fork', 5],
] as const;
const DECK = POLICIES.flatMap(([policy, count]) => Array<(typeof POLICIES)[number][0]>(count).fill(policy));
/** The messages after which a conversation is left and another one begun. */
const LONG = 25;
/** What a policy may be answered: nothing is stored then. */
const REFUSALS: Partial<Record<string, string>> = { reject: 'workflow_busy', fork: 'nothing_to_fork' };
const REPEATED = 0.1;
const WITHDRAWN = 0.05;
const SETTLED_MS = 5 * 60_000;

/** What can happen to conversations: nothing of it needs a tool. */
const FAULTS = ['worker', 'api', 'postgres', 'temporal', 'redis', 'worker held up', 'api held up', 'connection silent'];

/** Sends messages of all policies to conversations under faults. Returns the number of violations. */
export async function messageChaos(options: MessageOptions): Promise<number> {
  const resources = createResources((error) => console.error(error));
  const started = Date.now();
  const log = (line: string) => options.verbose && console.log(`${((Date.now() - started) / 1000).toFixed(1)} s ${line}`);
  console.log(`seed ${options.seed}: ${options.messages} messages, ${options.workers} workers, ${options.apis} APIs`);
  try {
    const env = { RUNNING_TASKS_PER_PRINCIPAL: '100000' };
    const installation = await startInstallation(resources, { ...options, env, log });
    const random = randomOf(options.seed);
    const model = resources.hold(await talkingModel(random.fork('model')), (it) => it.stop());
    const talk = await startTalk({ installation, random, model });
    const counts = noFaults();
    await disturb(options, talk, { counts, log });
    await settle(talk);
    const { fleet } = installation;
    const exits = await Promise.all([...fleet.workers, ...fleet.apis].map((member) => member.stop()));
    return await reportMessages({ options, talk, counts, exits, started });
  } finally {
    await resources.close();
  }
}

type Log = (line: string) => void;
type Client = ReturnType<typeof clientOf>;

interface Talk {
  installation: Installation;
  random: Random;
  newClient(name: string): Client;
  workflows: string[];
  conversations: Conversation[];
  /** The messages that the API has taken. */
  sent: SentMessage[];
  rejected: number;
}

/** Answers after some rounds of calls, at the pace of a person: there is time to say something in the meantime. */
async function talkingModel(random: Random): Promise<ModelServer> {
  const server = await startModelServer();
  server.always((response, request) => {
    const last_user = request.messages.findLastIndex(({ role }) => role === 'user');
    const calls = request.messages.slice(last_user).filter(({ role }) => role === 'assistant').length;
    const todoList = [{ id: 1, title: 'Count', status: 'done' }];
    const answer =
      calls < 3 && random.chance(0.5)
        ? asks({ name: 'manage_todo_list', args: { todoList } })
        : says(Array.from({ length: 3 + random.int(20) }, (_, word) => `word${word}`).join(' '), { pause_ms: random.int(40) });
    return answer(response, request);
  });
  return server;
}

interface TalkParts {
  installation: Installation;
  random: Random;
  model: ModelServer;
}

async function startTalk({ installation, random, model }: TalkParts): Promise<Talk> {
  const { urls, token } = installation;
  const newClient = (name: string) => clientOf({ urls, token, random: random.fork(name), dropped() {}, watched: new Set() });
  const client = newClient('setting');
  const create = async (path: string, body: object) => (await client.insist('POST', path, { body })).body.id as string;
  const base = { provider_type: 'openai_compatible', base_url: model.url, default_model: 'scripted' };
  const provider_id = await create('/api/providers', { name: 'scripted', ...base });
  const agent_id = await create('/api/agents', { name: 'talk', provider_id, builtin_tools: ['manage_todo_list'] });
  const settings = { output_format: 'markdown', max_turns: 100, remember: 'thread' };
  const workflows = await Promise.all(
    Array.from({ length: 4 }, (_, index) => create('/api/workflows', { agent_id, title: `talk ${index}`, ...settings })),
  );
  return { installation, random, newClient, workflows, conversations: [], sent: [], rejected: 0 };
}

/** Clients send messages to a few conversations at once, during the faults. */
async function disturb(options: MessageOptions, talk: Talk, { counts, log }: { counts: Counts; log: Log }): Promise<void> {
  const { random, installation, conversations, sent } = talk;
  const { pace_ms, held_up_ms, silent_ms, only } = options;
  const over = new AbortController();
  const idle = { poisonNext() {} } as never;
  const recovery = { lost: () => true as const, away() {} } as never;
  const settings = { counts, pace_ms, held_up_ms, silent_ms, only: only ?? FAULTS, log, random: random.fork('faults') };
  const faults = injectFaults({ ...installation, model: idle, tools: idle, recovery, ...settings }, over.signal);
  let made = 0;
  const enough = () => made >= options.messages || options.stop.aborted;
  const work = Array.from({ length: options.clients }, async (_, index) => {
    const own = random.fork(`sender ${index}`);
    const client = talk.newClient(`client ${index}`);
    while (!enough()) {
      made += 1;
      await sendOne(talk, { client, random: own, number: made });
      await wait(own.between(0, 300));
    }
  });
  const progress = setInterval(() => {
    console.log(`${killsIn(counts)} kills, ${sent.length} messages in ${conversations.length} conversations`);
  }, 30_000);
  await Promise.all(work);
  clearInterval(progress);
  over.abort();
  await faults;
}

interface Sender {
  client: Client;
  random: Random;
  number: number;
}

async function sendOne(talk: Talk, { client, random, number }: Sender): Promise<void> {
  const conversation = await chooseConversation(talk, { client, random, number });
  const when_busy = random.pick(DECK);
  const body = { message: `Say something about ${markOf(number)}.`, when_busy };
  const path = `/api/threads/${conversation.id}/messages`;
  const send = () => client.insist('POST', path, { body, key: `message-${number}` });
  const answers = random.chance(REPEATED) ? await Promise.all([send(), send()]) : [await send()];
  const refused = answers.filter(({ status, body: { code } }) => status === 409 && REFUSALS[when_busy] === code);
  // A refusal is not kept for the key: its repetition may find the lane free.
  const [accepted, ...repeated] = answers.filter((answer) => !refused.includes(answer));
  if (!accepted) {
    talk.rejected += 1;
    return;
  }
  const { status, body: receipt } = accepted;
  if (status > 202) throw new Error(`Message ${number} (${when_busy}) was answered with ${status}: ${receipt.detail}`);
  const message: SentMessage = {
    number,
    id: receipt.id,
    thread_id: conversation.id,
    when_busy,
    others: repeated.map((answer) => answer.body.id),
    withdrawn: false,
  };
  talk.sent.push(message);
  if (!random.chance(WITHDRAWN)) return;
  // 409 is fine: a run has read it.
  message.withdrawn = (await client.insist('DELETE', `${path}/${message.id}`)).status === 200;
}

/** Takes one of the conversations in use, or begins another one in place of one that is long. */
async function chooseConversation(talk: Talk, { client, random, number }: Sender): Promise<Conversation> {
  const open = talk.conversations.filter(({ messages }) => messages < LONG);
  const chosen = open.length >= 8 ? random.pick(open) : await beginConversation(talk, { client, random, number });
  chosen.messages += 1;
  return chosen;
}

async function beginConversation(talk: Talk, { client, random, number }: Sender): Promise<Conversation> {
  const begun = { body: { workflow_id: random.pick(talk.workflows) }, key: `thread-${number}` };
  const { body } = await client.insist('POST', '/api/threads', begun);
  const conversation: Conversation = { id: body.id, messages: 0 };
  talk.conversations.push(conversation);
  return conversation;
}

/** Waits until nothing is in progress; what does not settle is a separate violation. */
async function settle({ installation }: Talk): Promise<void> {
  const database = new pg.Client(installation.database_url);
  await database.connect();
  try {
    const pending = `SELECT count(*)::int AS n FROM tasks WHERE status IN ('pending', 'running', 'waiting')`;
    for (const last = Date.now() + SETTLED_MS; Date.now() < last; await wait(500))
      if ((await database.query<{ n: number }>(pending)).rows[0]!.n === 0) return;
  } finally {
    await database.end();
  }
}

interface MessageOutcome {
  options: MessageOptions;
  talk: Talk;
  counts: Counts;
  exits: (number | null)[];
  started: number;
}

const SHOWN = 5;

async function reportMessages({ options, talk, counts, exits, started }: MessageOutcome): Promise<number> {
  const database = new pg.Client(talk.installation.database_url);
  await database.connect();
  const verdicts: Verdict[] = [];
  try {
    for (const check of MESSAGE_CHECKS) verdicts.push(await check({ database, ...talk }));
  } finally {
    await database.end();
  }
  const wrong = exits.filter((code) => code !== 0).map((code) => `a process ended with ${code}`);
  verdicts.push({ invariant: 'SIGTERM ends every process with 0', checked: exits.length, violations: wrong });
  const violations = verdicts.reduce((sum, { violations: some }) => sum + some.length, 0);
  const minutes = ((Date.now() - started) / 60_000).toFixed(1);
  console.log(`\nseed ${options.seed}, ${minutes} minutes, ${talk.rejected} messages were rejected`);
  for (const [fault, count] of Object.entries(counts)) if (count > 0) console.log(`  ${String(count).padStart(5)}  ${fault}`);
  for (const { invariant, checked, violations: some } of verdicts) {
    console.log(`${some.length === 0 ? 'holds' : 'BROKEN'}: ${invariant} (${checked} checked, ${some.length} violations)`);
    for (const text of some.slice(0, SHOWN)) console.log(`    ${text}`);
  }
  console.log(`${killsIn(counts)} kills, ${talk.sent.length} messages, ${violations} violations`);
  return violations;
}
