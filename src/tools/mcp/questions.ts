import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Client,
  type ElicitRequest,
  type ElicitResult,
  isSpecType,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/client';
import { storableValue } from '../../domain/normalise.ts';
import { truncate } from '../../domain/outside.ts';
import { type FormQuestion, findQuestionError, MOST_QUESTIONS, QuestionRefused } from '../../domain/questions.ts';
import { findSecretRequest } from '../../domain/secret-questions.ts';
import type { AskPerson } from '../source.ts';
import type { CallClock } from './call-clock.ts';
import type { McpTarget } from './config.ts';

/** A call that a server is working on. */
interface AskingCall {
  task_id: string;
  ask: AskPerson | undefined;
  clock: CallClock;
  /** Receives a sentence for the model about a question that was refused. */
  reportRefusal(sentence: string): void;
}

export interface Questions {
  /** Has a client answer what its server asks during a call. */
  listen(client: Client): void;
  /** Runs the work of a call. While it runs, the server may ask questions for this call. */
  during<T>(call: AskingCall, work: () => Promise<T>): Promise<T>;
  /** True if the server has ever asked a question of which it did not say which call it belongs to. */
  hasAsked(): boolean;
  /**
   * Answers the questions of a result, one after the other; null if there are none. A refusal is an answer, too, because a result
   * cannot be answered with an error; the model reads the reason. Throws only if the call ends.
   */
  answerAll(requests: unknown, call: AskingCall, signal: AbortSignal): Promise<Record<string, ElicitResult> | null>;
}

/**
 * Forwards a server's questions to the person of the call that they belong to. Servers with a handshake do not name the call. Over
 * HTTP, it is the call whose reply carries the question; otherwise it is certain only while all calls in progress belong to one run.
 */
export function createQuestions(target: McpTarget): Questions {
  const calls = new Set<AskingCall>();
  const replying = new AsyncLocalStorage<AskingCall>();
  let has_asked = false;

  function findAskingCall(): AskingCall {
    const replying_call = replying.getStore();
    if (replying_call && calls.has(replying_call)) return replying_call;
    const [call] = calls;
    if (!call) throw new QuestionRefused('questions are answered only while one of its tools is called');
    if (new Set([...calls].map(({ task_id }) => task_id)).size > 1)
      throw new QuestionRefused('several runs call this server now, and it does not show which of them its question belongs to');
    return call;
  }

  async function answer(request: unknown, call: AskingCall, signal: AbortSignal): Promise<ElicitResult> {
    try {
      return await askPerson(readQuestion(request), { target, call }, signal);
    } catch (error) {
      signal.throwIfAborted();
      call.reportRefusal(describeRefusal(target, (error as Error).message));
      return REFUSED;
    }
  }

  return {
    listen(client) {
      client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq: { signal } }) => {
        has_asked = true;
        try {
          return await askPerson(params, { target, call: findAskingCall() }, signal);
        } catch (error) {
          throw new ProtocolError(ProtocolErrorCode.InvalidRequest, `Perdura does not ask: ${(error as Error).message}`);
        }
      });
    },
    async during(call, work) {
      calls.add(call);
      try {
        return await replying.run(call, work);
      } finally {
        calls.delete(call);
      }
    },
    hasAsked: () => has_asked,
    async answerAll(requests, call, signal) {
      const entries = Object.entries(Object(requests) as object);
      if (entries.length === 0) return null;
      const answers: [string, ElicitResult][] = [];
      for (const [key, request] of entries.slice(0, MOST_QUESTIONS)) answers.push([key, await answer(request, call, signal)]);
      const others = entries.slice(MOST_QUESTIONS);
      if (others.length > 0) call.reportRefusal(describeRefusal(target, askedTooMany(entries.length)));
      return Object.fromEntries([...answers, ...others.map(([key]) => [key, REFUSED])]);
    },
  };
}

const REFUSED = { action: 'cancel' } as const;

const askedTooMany = (count: number) => `it asks ${count} questions at once; only the first ${MOST_QUESTIONS} are considered`;

const AT_URL = 'questions that are answered at a URL are not supported';

interface Asked {
  target: McpTarget;
  call: AskingCall;
}

/** Puts a server's question to the person of the call. Throws `QuestionRefused` if nobody is asked. */
async function askPerson(params: ElicitRequest['params'], { target, call }: Asked, signal: AbortSignal): Promise<ElicitResult> {
  if (!('requestedSchema' in params)) throw new QuestionRefused(AT_URL);
  const { ask, clock, reportRefusal: report } = call;
  if (!ask) throw new QuestionRefused('nobody can be asked here');
  const { message, requestedSchema } = params;
  const { properties, required } = requestedSchema;
  const question = {
    message,
    asked_by: toAsker(target),
    schema: { properties, ...(required ? { required } : {}) },
  } as FormQuestion;
  const error = findQuestionError(question);
  if (error) throw new QuestionRefused(error);
  const secret = target.allow_secret_questions ? null : findSecretRequest(question);
  if (secret) {
    report(describeRefusal(target, asksForSecret(secret)));
    throw new QuestionRefused(asksForSecret(secret));
  }
  clock.pause();
  try {
    const { action, content } = await ask(storableValue(question, 'question_too_deep'), signal);
    return { action, ...(content ? { content } : {}) };
  } catch (error) {
    // Any other reason must not be revealed to the server.
    throw error instanceof QuestionRefused ? error : new QuestionRefused('the call ends, or cannot be continued now');
  } finally {
    clock.resume();
  }
}

/** Returns the question within a request that is part of a result. */
function readQuestion(request: unknown): ElicitRequest['params'] {
  const { method, params } = Object(request) as { method?: unknown; params?: unknown };
  if (method !== 'elicitation/create') throw new QuestionRefused(`${truncate(String(method))} is not offered`);
  if (isSpecType.ElicitRequestFormParams(params)) return params;
  const { mode } = Object(params) as { mode?: unknown };
  throw new QuestionRefused(mode === 'url' ? AT_URL : 'the form is not one of the protocol');
}

const toAsker = ({ name, endpoint }: McpTarget) => ({
  server: name,
  host: endpoint.kind === 'stdio' ? null : new URL(endpoint.url).host,
});

const asksForSecret = (place: string) =>
  `${place} asks for a password, an access token or another secret. The owner of the MCP server can allow such questions with allow_secret_questions`;

const describeRefusal = ({ name }: McpTarget, reason: string) =>
  `Perdura refused a question of the MCP server ${name}: ${reason}`;
