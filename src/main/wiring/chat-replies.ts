import { type AskModel, type ChatReplies, chatReplies } from '../../chat/replies.ts';
import { estimateTokens, latestThatFit } from '../../domain/context-window.ts';
import { getAskedModel, mergeExchangeLimits } from '../../domain/definition.ts';
import { providerDestination } from '../../domain/destinations.ts';
import { providerMissing } from '../../domain/errors.ts';
import { dropCalls } from '../../domain/model-failure.ts';
import type { TranscriptMessage } from '../../domain/transcript.ts';
import type { Answered } from '../../domain/usage.ts';
import { holdsBack, type Verdict } from '../../guardrails/judge.ts';
import { measureRuntime } from '../../observe/measured.ts';
import { redactRuntime } from '../../runtimes/redacted.ts';
import { type ModelCaller, selectRuntime } from '../../runtimes/select.ts';
import type { Caps } from '../../temporal/activities/caps.ts';
import type { SharedServices } from '../core.ts';
import { askWithinBudgets } from './chat-budgets.ts';
import { getRuntimeOptions, windowFinder } from './runtime-options.ts';

/** The part of the window kept free for the reply. */
const REPLY_SHARE = 0.25;

/** The services that a chat's reply uses. */
type ReplyServices = Pick<SharedServices, 'store' | 'bus' | 'secrets' | 'judge' | 'meters' | 'tracing' | 'setting' | 'egress'>;

/**
 * Creates the replies of chats, which use the agent's own runtime and no tools. The bus carries a notice of each change on the
 * channel of the session: its number means nothing, because readers find the reply in the record.
 */
export const createChatReplies = (core: ReplyServices, caps: Caps): ChatReplies =>
  chatReplies({
    store: core.store.chat,
    ask: createAskModel(core, caps),
    announce: (session_id) => core.bus.announce(session_id, { last: 0 }),
    listen: (session_id, wake) => core.bus.subscribe(session_id, wake),
  });

/** Creates what asks the model of an agent for a reply, within the budgets above the chat. */
export function createAskModel(core: ReplyServices, caps: Caps): AskModel {
  const { store, secrets, judge, meters } = core;
  return async ({ agent, caller, session_id, question_id }, history, { emit, reportUsage, signal }) => {
    secrets.recordSecret(caller.access_token);
    const provider = agent.provider_id ? await store.providers.find(agent.provider_id) : null;
    if (agent.provider_id && !provider) throw providerMissing(agent.name);
    const model = getAskedModel({ model: agent.model, provider });
    const openToken: ModelCaller['openToken'] = (token, endpoint) =>
      store.tokens.open({ name: token, principal: caller.key, destination: providerDestination(endpoint) });
    const limits = mergeExchangeLimits(null, provider);
    const selection = await selectRuntime(
      { provider, ...(limits && { exchange_limits: limits }) },
      { access_token: caller.access_token, openToken },
      getRuntimeOptions(core),
    );
    const { tokens } = await windowFinder(core)({ model, provider });
    const room = tokens * (1 - REPLY_SHARE) - estimateTokens(agent.system_prompt);
    const exchange = {
      task_id: session_id,
      model,
      instructions: agent.system_prompt,
      tools: [],
      transcript: latestThatFit(history, room).map(toTranscriptMessage),
      reasoning_effort: null,
      wants_json: false,
      cursor: null,
    };
    const guardrails = await store.chatGuardrails(agent.id, caller.key);
    const holds_text = holdsBack(guardrails);
    const measured_runtime = measureRuntime(redactRuntime(selection.runtime, secrets.redact), selection.prices, meters);
    const place = { task_id: session_id, provider: provider?.provider_type };
    const runtime = core.tracing?.runtime(measured_runtime, place) ?? measured_runtime;
    const payer = { question_id, owner: caller.key, service_key_id: caller.service_key?.id ?? null, agent_id: agent.id };
    const reportBrokenOff = (answered: Answered) => reportUsage(toChatUsage(answered));
    const call = { payer, prices: selection.prices, reportBrokenOff };
    const askRuntime = askWithinBudgets(runtime, { caps, store: store.caps }, call);
    const answer = await askRuntime(exchange, holds_text ? () => {} : emit, signal);
    const reply = dropCalls(answer.reply, 'answering');
    const text = getAllowedText(await judge.judgeAnswer(guardrails, reply.text, { owner: caller.key }));
    if (holds_text) emit(text);
    return { text, usage: toChatUsage(reply), truncated: reply.finish === 'length' };
  };
}

const toChatUsage = ({ usage, estimated }: Answered) => ({
  prompt_tokens: usage.total_in,
  completion_tokens: usage.total_out,
  ...(estimated ? { estimated } : {}),
});

/** Returns the reply after the output guardrails. */
function getAllowedText({ text, findings }: Verdict): string {
  if (text !== null) return text;
  const { guardrail, reasons } = findings.at(-1) as (typeof findings)[number];
  throw new Error(`The guardrail ${guardrail} withheld the answer: ${reasons.join('; ')}`);
}

const toTranscriptMessage = ({ role, content }: { role: string; content: string }, step: number): TranscriptMessage => ({
  step,
  position: 0,
  content,
  tool_calls: null,
  call_id: null,
  extra: null,
  ...(role === 'user' ? { role: 'user', kind: 'prompt' } : { role: 'assistant', kind: 'reply' }),
});
