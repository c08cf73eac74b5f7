import { extractPieces, fill, type Schema } from './demo-arguments.ts';
import { type DemoConversation, type DemoRequest, messageText, toConversation } from './demo-request.ts';
import { parseScenario, type Scenario, scenarioText } from './demo-scenario.ts';

interface DemoCall {
  name: string;
  arguments: string;
}

/** One turn of the demo model: either tool calls or a text, never both. */
export interface DemoReply {
  calls: DemoCall[];
  text: string;
  scenario?: Scenario | undefined;
}

type Tool = { name: string; parameters?: Schema | null | undefined };

const INTRODUCTION = "This is Perdura's demo model: it follows a script and understands nothing.";

/** Creates a reply by fixed rules. The same request always gets the same reply. */
export function createReply(request: DemoRequest): DemoReply {
  const conversation = toConversation(request.messages);
  const tools = request.tool_choice === 'none' ? [] : (request.tools ?? []).map((it) => it.function);
  const scenario = parseScenario(conversation.prompt);
  if (scenario) return { ...playScenario(scenario, conversation, tools), scenario };
  const chosen_tools = chooseTools(request, conversation, tools);
  if (chosen_tools.length > 0) return { calls: buildCalls(chosen_tools, conversation.prompt), text: '' };
  return { calls: [], text: finalText(request, conversation, tools) };
}

function playScenario(scenario: Scenario, { prompt, results }: DemoConversation, tools: readonly Tool[]): DemoReply {
  if (tools.length === 0 || results.length >= scenario.turns - 1) return { calls: [], text: scenarioText(scenario) };
  const tool = tools.find(({ name }) => name === scenario.tool);
  const q = `q${results.length + 1}`;
  const fitting =
    tool?.parameters?.properties && !tool.parameters.properties.q ? fill(tool.parameters, extractPieces(prompt)) : { q };
  const extras = { ...(scenario.toolms && { ms: scenario.toolms }), ...(scenario.pad && { pad: 'x'.repeat(scenario.pad) }) };
  return { calls: [{ name: scenario.tool, arguments: JSON.stringify({ ...(fitting as object), ...extras }) }], text: '' };
}

/**
 * Chooses the tools to call. Until there are results, these are the tools that the request requires, or else those that the
 * prompt mentions, in that order.
 */
function chooseTools({ tool_choice }: DemoRequest, { prompt, results }: DemoConversation, tools: readonly Tool[]): Tool[] {
  const forced_name = typeof tool_choice === 'object' ? tool_choice?.function?.name : undefined;
  if (forced_name) return tools.filter(({ name }) => name === forced_name);
  const mentioned = results.length > 0 ? [] : findMentionedTools(prompt, tools);
  return mentioned.length === 0 && tool_choice === 'required' ? tools.slice(0, 1) : mentioned;
}

/** Finds the tools whose names the prompt mentions. Long names come first, so that `read_file` does not match `read`. */
function findMentionedTools(prompt: string, tools: readonly Tool[]): Tool[] {
  let words = ` ${normalizeWords(prompt)} `;
  const mentions: { tool: Tool; at: number }[] = [];
  for (const tool of [...tools].sort((a, b) => b.name.length - a.name.length)) {
    const name = ` ${normalizeWords(tool.name)} `;
    const at = words.indexOf(name);
    if (at < 0) continue;
    mentions.push({ tool, at });
    words = words.replaceAll(name, ` ${'#'.repeat(name.length - 2)} `);
  }
  return mentions.sort((a, b) => a.at - b.at).map(({ tool }) => tool);
}

/** Normalizes text so that `getWeather`, `get_weather` and `get weather` are the same words. */
function normalizeWords(text: string): string {
  const words = text.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2').toLowerCase();
  return words.replace(/[^\p{L}\p{N}]+/gu, ' ').trim();
}

/**
 * Builds one call for each tool. Each call continues in the prompt where the previous one stopped, and wraps around at its end.
 */
function buildCalls(tools: readonly Tool[], prompt: string): DemoCall[] {
  const remaining_pieces = extractPieces(prompt);
  return tools.map(({ name, parameters }) => {
    if (remaining_pieces.numbers.length === 0) remaining_pieces.numbers = extractPieces(prompt).numbers;
    if (remaining_pieces.quotes.length === 0) remaining_pieces.quotes = extractPieces(prompt).quotes;
    return { name, arguments: JSON.stringify(fill({ type: 'object', ...parameters }, remaining_pieces)) };
  });
}

function finalText(request: DemoRequest, conversation: DemoConversation, tools: readonly Tool[]): string {
  const text = plainText(conversation, tools);
  const { type, json_schema } = request.response_format ?? {};
  if (type === 'json_schema' && json_schema?.schema)
    return JSON.stringify(fill(json_schema.schema, extractPieces(conversation.prompt)));
  return asksForJson(request, conversation) ? JSON.stringify({ answer: text }) : text;
}

function plainText({ prompt, results }: DemoConversation, tools: readonly Tool[]): string {
  if (results.length > 0) {
    return [...results.map(({ name, text }) => `The tool ${name} answered: ${truncate(text, 400)}`), INTRODUCTION].join('\n\n');
  }
  const names = tools.slice(0, 12).map(({ name }) => name);
  const hint = names.length > 0 ? [`Name a tool in the prompt and it is called: ${names.join(', ')}.`] : [];
  return [INTRODUCTION, `The prompt was: ${truncate(prompt.trim(), 200)}`, ...hint].join('\n\n');
}

function asksForJson({ response_format, messages }: DemoRequest, { prompt }: DemoConversation): boolean {
  if (response_format?.type.startsWith('json')) return true;
  const instructions = messages.filter(({ role }) => role === 'system' || role === 'developer').map(messageText);
  // A file name such as data.json does not count.
  return [...instructions, prompt].some((text) => /(?<![\w.])json\b/i.test(text));
}

function truncate(text: string, length: number): string {
  const characters = [...text];
  return characters.length > length ? `${characters.slice(0, length).join('')}…` : text;
}
