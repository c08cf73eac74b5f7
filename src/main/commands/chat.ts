import { createInterface } from 'node:readline';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { Agent, ChatEvent, PerduraClient } from '../../client/index.ts';
import type { Config } from '../config.ts';
import { loadItems } from '../remote/list.ts';
import { parseCommand } from '../remote/options.ts';
import { isId, remotePlace, toClient } from '../remote/place.ts';
import { note, print, printError, say } from '../terminal.ts';

interface Chat {
  url: string;
  token: string;
  client: PerduraClient;
  agent_id: string;
  /** Null until the first reply begins. */
  session_id: string | null;
  json: boolean;
  /** Aborted when the user leaves without waiting for the end of a reply. */
  leave: AbortSignal;
}

const INTERRUPTED = 130;

/** `perdura chat <agent>`: each line of stdin is a message. Ends with 1 if a reply failed. */
export default async function chat(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('chat', args);
  const place = await remotePlace(config);
  const client = toClient(place);
  const agent_id = await agentNamed(client, given.words[0]!);
  const leaving = new AbortController();
  const [session_id, json] = [given.text('session') ?? null, given.has('json')];
  const state: Chat = { ...place, client, agent_id, session_id, json, leave: leaving.signal };
  const asks = Boolean(process.stdin.isTTY);
  if (asks) note('Write a message and press Enter. Ctrl-C stops a reply, and ends the chat between replies.');
  const lines = createInterface({ input: process.stdin, ...(asks ? { output: process.stderr } : {}) });
  // While a reply streams, Ctrl-C stops it; the terminal sends it to the reader of lines.
  let reply: AbortController | null = null;
  const interrupt = () => {
    if (!reply) lines.close();
    else if (reply.signal.aborted) leaving.abort();
    else reply.abort();
  };
  lines.on('SIGINT', interrupt);
  process.on('SIGINT', interrupt);
  try {
    if (asks) printError('> ');
    for await (const message of lines) {
      if (message.trim()) {
        reply = new AbortController();
        await showReply(state, message, reply.signal);
        reply = null;
      }
      if (asks) printError('> ');
    }
  } catch (error) {
    if (!leaving.signal.aborted) throw error;
    process.exitCode = INTERRUPTED;
  } finally {
    process.off('SIGINT', interrupt);
    lines.close();
  }
  if (state.session_id) note(`To continue: perdura chat ${agent_id} --session ${state.session_id}`);
}

/** Sends a message and prints the reply as it arrives. After an abort the service ends the reply, and what it wrote stays. */
async function showReply(chat: Chat, message: string, stop: AbortSignal): Promise<void> {
  const { url, token, agent_id, session_id, json } = chat;
  const answer = await fetch(`${url.replace(/\/$/, '')}/api/agents/${agent_id}/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ message, ...(session_id ? { session_id } : {}) }),
    signal: chat.leave,
  });
  if (!answer.ok) throw new Error(`${await readRefusal(answer)} (${answer.status})`);
  const frames = answer.body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  let has_ended = false;
  for await (const { data } of frames) {
    const event = JSON.parse(data) as ChatEvent;
    if (event.type === 'session') {
      const opened = event.session_id;
      chat.session_id = opened;
      const halt = () => void stopReply(chat, opened).catch((error: Error) => note(`Not stopped: ${error.message}`));
      if (stop.aborted) halt();
      else stop.addEventListener('abort', halt);
    }
    if (json) say(JSON.stringify(event));
    else if (event.type === 'delta') print(event.content);
    else if (event.type === 'done') say('');
    has_ended ||= event.type === 'done' || event.type === 'error';
    if (event.type === 'error') {
      note(json ? event.message : `\nThe reply failed: ${event.message}`);
      process.exitCode = 1;
    }
  }
  if (!has_ended) throw new Error('The connection ended before the reply did; what was written of it is in the session');
}

/** Returns why a request was refused. A proxy in front of the service does not answer with problem details. */
async function readRefusal(answer: Response): Promise<string> {
  const { detail } = (await answer.json().catch(() => ({}))) as { detail?: string };
  return detail ?? `The message was refused: ${answer.statusText}`;
}

async function stopReply({ client, agent_id }: Chat, session_id: string): Promise<void> {
  await client.request('POST /api/agents/{agent_id}/chat/sessions/{session_id}/stop', { path: { agent_id, session_id } });
}

/** Returns the id of an agent, given as the id itself or as its name. */
async function agentNamed(client: PerduraClient, name: string): Promise<string> {
  if (isId(name)) return name;
  const found = (await loadItems<Agent>(client, 'GET /api/agents')).find((agent) => agent.name === name);
  if (!found) throw new Error(`There is no agent with the name ${JSON.stringify(name)}; perdura agents ls lists them`);
  return found.id;
}
