import { createInterface } from 'node:readline';
import type { Attachment } from '../../client/index.ts';
import { suggest } from '../remote/options.ts';
import type { Ask } from './ask.ts';
import { type Asks, createAsks, readAskEvent } from './asks.ts';
import { followTurns, openConversation, send, stopTurn, type TerminalChat } from './conversation.ts';
import { uploadFile } from './files.ts';
import { createScreen, type Screen } from './screen.ts';
import { type Choice, listThreads, showThreads } from './threads.ts';

const HELP = `Write a message and press Enter. While a turn works, a message goes to it and is read at its next step.
  /file PATH   send a file with the next message; without PATH: which files that are
  /threads     list your threads
  /quit        leave; a turn in progress continues (also Ctrl-D)
  /help        this
Ctrl-C stops the turn in progress; twice within 2 seconds, or when nothing is in progress, it leaves.
A message that begins with / is written with //.`;
const LEAVE_MS = 2_000;
const INTERRUPTED = 130;

interface Talk {
  conversation: TerminalChat;
  screen: Screen;
  asks: Asks;
  /** The files that go with the next message. */
  files: Attachment[];
  leave(): void;
}

/** A conversation in a terminal: the person may type at any time. Resolves when they leave. */
export async function talk(client: TerminalChat['client'], choice: Choice, json: boolean): Promise<TerminalChat> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const screen = createScreen(lines);
  const leaving = new AbortController();
  const left = Promise.withResolvers<void>();
  leaving.signal.addEventListener('abort', () => left.resolve());
  const conversation = openConversation({ client, output: screen, json, leave: leaving.signal }, choice);
  const asks = createAsks({ client, screen, onChange: () => setPrompt(it) });
  const it: Talk = { conversation, screen, asks, files: [], leave: () => leaving.abort() };
  conversation.ask = {
    onEvent: (event, task_id) =>
      void readAskEvent(asks, { client, task_id, event }).catch((error: Error) => screen.note(error.message)),
    onEnd: asks.clear,
  };
  const follow = () => {
    followTurns(conversation).then(() => setPrompt(it), left.reject);
    setPrompt(it);
  };
  const interrupt = createInterrupt(it);
  takeLines(it, follow);
  lines.on('SIGINT', interrupt).on('close', it.leave);
  process.on('SIGINT', interrupt);
  follow();
  try {
    await left.promise;
  } finally {
    it.leave();
    process.off('SIGINT', interrupt);
    screen.end();
    lines.close();
  }
  return conversation;
}

function setPrompt({ conversation, screen, asks }: Talk): void {
  const ask = asks.shown();
  screen.setPrompt(ask ? { text: ask.prompt(), visible: true } : { text: '> ', visible: !conversation.is_following });
}

/** Takes the lines in their order, each when the one before it has been sent. */
function takeLines(it: Talk, follow: () => void): void {
  let work: Promise<void> = Promise.resolve();
  it.screen.onLine((line) => {
    const ask = it.asks.shown();
    work = work.then(() => takeLine(it, ask, line)).then(follow, (error: Error) => it.screen.note(error.message));
  });
}

function takeLine(it: Talk, ask: Ask | null, line: string): Promise<void> | void {
  const text = line.trim();
  const [, name = '', words = ''] = /^\/([a-z]+)(\s.*)?$/s.exec(text) ?? [];
  if (Object.hasOwn(COMMANDS, name)) return COMMANDS[name]!(it, words.trim());
  if (ask) return it.asks.answer(ask, line);
  if (name) return it.screen.note(`There is no /${name}${suggest(`/${name}`, NAMES)}; /help lists the commands`);
  if (text) return sendLine(it, text.replace(/^\/\//, '/'));
}

async function sendLine({ conversation, screen, files }: Talk, message: string): Promise<void> {
  const attachments = files.map(({ id }) => id);
  const is_working = conversation.is_following;
  const receipt = await send(conversation, { message, attachments, when_busy: 'steer' });
  files.length = 0;
  // A turn that begins at once is seen in what it writes.
  if (receipt.state !== 'pending' || !is_working) return;
  screen.note(`  ↳ sent: ${receipt.task_id === receipt.id ? 'it is the next turn' : 'the turn reads it at its next step'}`);
}

const COMMANDS: Record<string, (it: Talk, words: string) => Promise<void> | void> = {
  async file({ conversation, screen, files }, path) {
    if (path) files.push(await uploadFile(conversation.client, path));
    for (const { name, media_type, size } of files)
      screen.note(`  with the next message: ${name} (${media_type}, ${size} bytes)`);
    if (files.length === 0) screen.note('  no file goes with the next message; /file PATH adds one');
  },
  async threads({ conversation, screen }) {
    const threads = await listThreads(conversation.client);
    screen.whenFree(({ endLine }) => {
      endLine();
      showThreads(threads);
    });
  },
  quit: ({ leave }) => leave(),
  help: ({ screen }) => screen.note(HELP),
};
const NAMES = Object.keys(COMMANDS).map((name) => `/${name}`);

/** Stops the turn in progress; leaves if there is none, or at the second time in a short while. */
function createInterrupt({ conversation, screen, leave }: Talk): () => void {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    const is_second = now - last <= LEAVE_MS;
    if (!conversation.is_following) {
      if (!screen.clearLine()) leave();
    } else if (is_second) {
      process.exitCode = INTERRUPTED;
      leave();
    } else {
      last = now;
      void stopTurn(conversation);
    }
  };
}
