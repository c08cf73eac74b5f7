import { createHash } from 'node:crypto';
import type { ToolSpec } from '../domain/definition.ts';
import { findMeantTool } from '../domain/tool-names.ts';
import type { ToolRules } from '../domain/tool-rules.ts';
import type { TranscriptMessage } from '../domain/transcript.ts';
import type { Exchange, ModelReply, ModelRuntime } from './runtime.ts';
import { renameParameters, restoreNames } from './sent-keys.ts';
import { toVendorSchema } from './tool-schemas.ts';

const NAME_CHARACTERS = 64;

/**
 * Sends tools under names and with schemas that the vendor accepts. Everything behind it, such as guards and the ledger, knows a tool
 * by its own name only.
 */
export const adaptTools = (runtime: ModelRuntime, findRules: (model: string | null) => ToolRules): ModelRuntime => ({
  ...runtime,
  async exchange(input, emit, signal) {
    const { sent, toOwn } = toSentExchange(input, findRules(input.model));
    const { reply, cursor } = await runtime.exchange(sent, emit, signal);
    return { reply: { ...reply, calls: reply.calls.map(toOwn) }, cursor };
  },
});

type ModelCall = ModelReply['calls'][number];

interface SentExchange {
  sent: Exchange;
  /** Returns a call by the own names of the tool that the model means and of its parameters. */
  toOwn(call: ModelCall): ModelCall;
}

/** Returns an exchange with the tools as the vendor accepts them, also in the calls of its history. */
function toSentExchange(input: Exchange, rules: ToolRules): SentExchange {
  const names = toSentNames(
    input.tools.map(({ name }) => name),
    rules,
  );
  const toSent = (name: string) => names.get(name) ?? toSentName(name, rules);
  const own_names = new Map([...names].map(([own, sent]) => [sent, own]));
  const tools = input.tools.map((tool) => ({ own: tool.name, ...toSentTool({ ...tool, name: toSent(tool.name) }, rules) }));
  const own_parameters = new Map(tools.map(({ own, own_names: renamed }) => [own, renamed]));
  return {
    sent: {
      ...input,
      tools: tools.map(({ tool }) => tool),
      transcript: input.transcript.map((message) => renameCalls(message, toSent)),
    },
    toOwn(call) {
      const name = own_names.get(findMeantTool(call.name, own_names)) ?? call.name;
      return { ...call, name, arguments: restoreNames(call.arguments, own_parameters.get(name)) };
    },
  };
}

function toSentTool(tool: ToolSpec, { family, most_description, keys }: ToolRules) {
  const characters = [...tool.description];
  const description =
    most_description !== null && characters.length > most_description
      ? `${characters.slice(0, most_description - 1).join('')}…`
      : tool.description;
  const accepted = toVendorSchema(tool.parameters, family);
  const { parameters, own_names } = renameParameters(accepted, (names) => toFreeNames(names, KEYS[keys]));
  return { tool: { ...tool, description, parameters }, own_names };
}

/** Returns the name under which each tool is sent: its own where the vendor takes it, otherwise one that no other tool has. */
export const toSentNames = (own_names: readonly string[], rules: ToolRules): Map<string, string> =>
  toFreeNames(own_names, NAMES[rules.names]);

/** What a name must be, and what is put before one that begins otherwise. */
interface NameRule {
  accepted: RegExp;
  odd: RegExp;
  prefix: string;
}

const NAME_ODD = /[^A-Za-z0-9_-]/g;
const NAMES: Record<ToolRules['names'], NameRule> = {
  any: { accepted: /^[A-Za-z0-9_-]{1,64}$/, odd: NAME_ODD, prefix: 'tool_' },
  no_digit_first: { accepted: /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, odd: NAME_ODD, prefix: 'tool_' },
  letter_first: { accepted: /^[A-Za-z][A-Za-z0-9_-]{0,63}$/, odd: NAME_ODD, prefix: 'tool_' },
};

const KEYS: Record<ToolRules['keys'], NameRule> = {
  any: { accepted: /^/, odd: /(?!)/g, prefix: '' },
  plain: { accepted: /^[A-Za-z0-9_.-]{1,64}$/, odd: /[^A-Za-z0-9_.-]/g, prefix: 'p_' },
};

function toFreeNames(own_names: readonly string[], rule: NameRule): Map<string, string> {
  const sent_names = new Map(own_names.filter((name) => rule.accepted.test(name)).map((name) => [name, name]));
  const taken = new Set(sent_names.values());
  for (const own of own_names.filter((name) => !sent_names.has(name))) {
    let sent = toAcceptedName(own, rule);
    for (let number = 2; taken.has(sent); number += 1)
      sent = `${toAcceptedName(own, rule).slice(0, NAME_CHARACTERS - 4)}_${number}`;
    taken.add(sent);
    sent_names.set(own, sent);
  }
  return sent_names;
}

const toSentName = (name: string, rules: ToolRules): string => toAcceptedName(name, NAMES[rules.names]);

/** The name follows from the own name alone, so that repeated requests are the same. */
function toAcceptedName(name: string, { accepted, odd, prefix }: NameRule): string {
  if (accepted.test(name)) return name;
  const plain = name.replaceAll(odd, '_');
  const begun = accepted.test(plain.slice(0, NAME_CHARACTERS)) ? plain : `${prefix}${plain}`;
  if (begun.length <= NAME_CHARACTERS && plain === name) return begun;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 6);
  return `${begun.slice(0, NAME_CHARACTERS - 7)}_${digest}`;
}

const renameCalls = (message: TranscriptMessage, toSent: (name: string) => string): TranscriptMessage =>
  message.tool_calls?.some(({ name }) => name !== '' && toSent(name) !== name)
    ? { ...message, tool_calls: message.tool_calls.map((call) => ({ ...call, name: call.name && toSent(call.name) })) }
    : message;
