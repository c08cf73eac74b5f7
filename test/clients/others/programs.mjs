// What users of other clients write, with nothing changed but the base URL: LangChain, Vercel's AI SDK, OpenAI's Agents SDK.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { tool as langchainTool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, tool as agentTool, run, setDefaultOpenAIClient, setOpenAIAPI, setTracingDisabled } from '@openai/agents';
import { generateText, Output, stepCountIs, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { z } from 'zod';

const { BASE_URL: baseURL, ACCESS_TOKEN: apiKey, MODEL: model } = process.env;
const prompt = 'Say something.';

async function joined(pieces) {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

const perdura = createOpenAICompatible({ name: 'perdura', baseURL, apiKey, supportsStructuredOutputs: true });
const ai = { model: perdura(model), prompt, maxRetries: 0 };
const Answer = z.object({ a: z.number() });
const Terms = z.object({ a: z.number(), b: z.number() });
const ADD = { name: 'add', description: 'Adds', schema: Terms };
const sum = ({ a, b }) => a + b;
const add = tool({ description: 'Adds', inputSchema: Terms, execute: sum });
const chat = new ChatOpenAI({ model, apiKey, configuration: { baseURL }, maxRetries: 0 });
setTracingDisabled(true);
setDefaultOpenAIClient(new OpenAI({ baseURL, apiKey, maxRetries: 0 }));
const agent = new Agent({ name: 'a', model, instructions: 'Be kind.' });
const withApi = (api, by = agent) => {
  setOpenAIAPI(api);
  return run(by, prompt);
};
const adding = agentTool({ name: 'add', description: 'Adds', parameters: Terms, execute: (terms) => String(sum(terms)) });
const adder = new Agent({ name: 'c', model, instructions: 'Add.', tools: [adding] });
const exact = new Agent({ name: 'b', model, instructions: 'Be exact.', outputType: Answer });

const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const aiImage = {
  role: 'user',
  content: [
    { type: 'text', text: prompt },
    { type: 'file', data: DOT, mediaType: 'image/png' },
  ],
};
const langchainImage = {
  role: 'user',
  content: [
    { type: 'text', text: prompt },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${DOT}` } },
  ],
};

const tries = {
  'AI SDK: generateText': async () => (await generateText(ai)).text,
  'AI SDK: textVerbosity': async () =>
    (await generateText({ ...ai, temperature: 0.5, providerOptions: { perdura: { textVerbosity: 'low', user: 'u' } } })).text,
  'AI SDK: streamText': () => joined(streamText(ai).textStream),
  'AI SDK: object': async () => (await generateText({ ...ai, output: Output.object({ schema: Answer }) })).output,
  'AI SDK: tools': async () =>
    (await generateText({ ...ai, prompt: 'add 17 and 25', tools: { add }, stopWhen: stepCountIs(3) })).text,
  'AI SDK: toolChoice': async () =>
    JSON.stringify((await generateText({ ...ai, tools: { add }, toolChoice: 'required' })).toolCalls.map(({ input }) => input)),
  'AI SDK: toolChoice, each step': async () =>
    String((await generateText({ ...ai, tools: { add }, toolChoice: 'required', stopWhen: stepCountIs(3) })).steps.length),
  'AI SDK: image': async () => (await generateText({ ...ai, prompt: undefined, messages: [aiImage] })).text,
  'LangChain: invoke': async () => (await chat.invoke(prompt)).content,
  'LangChain: stream': async () => {
    let text = '';
    for await (const { content } of await chat.stream(prompt)) text += content;
    return text;
  },
  'LangChain: bindTools': async () =>
    JSON.stringify((await chat.bindTools([langchainTool(sum, ADD)]).invoke('add 17 and 25')).tool_calls),
  'LangChain: tool_choice': async () =>
    JSON.stringify((await chat.bindTools([langchainTool(sum, ADD)], { tool_choice: 'add' }).invoke(prompt)).tool_calls),
  'LangChain: image': async () => (await chat.invoke([langchainImage])).content,
  'LangChain: withStructuredOutput': () => chat.withStructuredOutput(Answer).invoke(prompt),
  'LangChain: by function': () => chat.withStructuredOutput(Answer, { method: 'functionCalling' }).invoke(prompt),
  'Agents SDK: responses': async () => (await withApi('responses')).finalOutput,
  'Agents SDK: chat_completions': async () => (await withApi('chat_completions')).finalOutput,
  'Agents SDK: function tool': async () => (await run(adder, 'add 17 and 25')).finalOutput,
  'Agents SDK: output type': async () => (await withApi('responses', exact)).finalOutput,
};

for (const [name, work] of Object.entries(tries)) {
  const result = await work().then(
    // streamText reports errors elsewhere, and ends.
    (text) => (text === '' ? 'refused  (no text)' : `works    ${JSON.stringify(text)}`),
    (error) => `refused  ${error.message}`,
  );
  console.log(`${name.padEnd(34)}${result}`);
}
