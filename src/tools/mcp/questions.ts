import { AsyncLocalStorage } from 'node:async_hooks';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ElicitRequestSchema, ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { storableValue } from '../../domain/normalise.ts';
import { type FormQuestion, findQuestionError, QuestionRefused } from '../../domain/questions.ts';
import { findSecretRequest } from '../../domain/secret-questions.ts';
import type { AskPerson } from '../source.ts';
import type { CallClock } from './call-clock.ts';
import type { McpTarget } from './config.ts';

/** A call that a server is working on. */
interface AskingCall {
  task_id: string;
  ask: AskPerson | undefined;
  clock: CallClock;
  /** Receives a sentence for the model about a question that was refused to protect a person. */
  reportRefusal(sentence: string): void;
}

interface Questions {
  /** Runs the work of a call. While it runs, the server may ask questions for this call. */
  during<T>(call: AskingCall, work: () => Promise<T>): Promise<T>;
  /** True if the server has ever asked a question. */
  hasAsked(): boolean;
}

/**
 * Forwards a server's questions to the person of the call that they belong to. The protocol does not name the call. Over HTTP,
 * it is the call whose reply carries the question; otherwise it is certain only while all calls in progress belong to one run.
 */
export function createQuestions(client: Client, target: McpTarget): Questions {
  const calls = new Set<AskingCall>();
  const replying = new AsyncLocalStorage<AskingCall>();
  let has_asked = false;

  function askingCall(): AskingCall {
    const replying_call = replying.getStore();
    if (replying_call && calls.has(replying_call)) return replying_call;
    const [call] = calls;
    if (!call) throw createRefusal('questions are answered only while one of its tools is called');
    if (new Set([...calls].map(({ task_id }) => task_id)).size > 1)
      throw createRefusal('several runs call this server now, and it does not show which of them its question belongs to');
    return call;
  }

  client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => {
    has_asked = true;
    if (!('requestedSchema' in params)) throw createRefusal('questions that are answered at a URL are not supported');
    const { ask, clock, reportRefusal: report } = askingCall();
    if (!ask) throw createRefusal('nobody can be asked here');
    const { message, requestedSchema } = params;
    const { properties, required } = requestedSchema;
    const question = {
      message,
      asked_by: toAsker(target),
      schema: { properties, ...(required ? { required } : {}) },
    } as FormQuestion;
    const error = findQuestionError(question);
    if (error) throw createRefusal(error);
    const secret = target.allow_secret_questions ? null : findSecretRequest(question);
    if (secret) {
      report(`Perdura refused a question of the MCP server ${target.name}: ${asksForSecret(secret)}`);
      throw createRefusal(asksForSecret(secret));
    }
    clock.pause();
    try {
      const { action, content } = await ask(storableValue(question, 'question_too_deep'), signal);
      return { action, ...(content ? { content } : {}) };
    } catch (error) {
      // Any other reason must not be revealed to the server.
      throw createRefusal(error instanceof QuestionRefused ? error.message : 'the call ends, or cannot be continued now');
    } finally {
      clock.resume();
    }
  });

  return {
    async during(call, work) {
      calls.add(call);
      try {
        return await replying.run(call, work);
      } finally {
        calls.delete(call);
      }
    },
    hasAsked: () => has_asked,
  };
}

const toAsker = ({ name, endpoint }: McpTarget) => ({
  server: name,
  host: endpoint.kind === 'stdio' ? null : new URL(endpoint.url).host,
});

const asksForSecret = (place: string) =>
  `${place} asks for a password, an access token or another secret. The owner of the MCP server can allow such questions with allow_secret_questions`;

const createRefusal = (reason: string) => new McpError(ErrorCode.InvalidRequest, `Perdura does not ask: ${reason}`);
