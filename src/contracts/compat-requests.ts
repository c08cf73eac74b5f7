import { z } from 'zod';

const Part = z
  .looseObject({ type: z.string(), text: z.string().optional(), refusal: z.string().optional() })
  .meta({ description: 'Text, an image (`image_url`, `input_image`) or a file (`file`, `input_file`)' });
const Content = z.union([z.string(), z.array(Part)]).nullish();
const Message = z.looseObject({ role: z.string(), content: Content });
export type CompatMessage = z.output<typeof Message>;

/** An item of a response's input: a message, or a call with its result. */
export const CompatItem = z.looseObject({ type: z.string().optional(), role: z.string().optional(), content: Content });
export type CompatItem = z.output<typeof CompatItem>;
const Tools = z
  .array(z.looseObject({ type: z.string() }))
  .nullish()
  .meta({ description: 'Functions that the client executes; the run waits for their results' });

const ToolChoice = z.unknown().optional().meta({
  description: '`auto`, `none`, `required`, or one of `tools` by its name: for the first exchange with the model',
  example: 'auto',
});
const Parallel = z
  .boolean()
  .nullish()
  .meta({ description: '`false`: one call at a time; otherwise the setting of the workflow' });

const Effort = z.string().nullish().meta({
  description: 'A word that the model takes, such as `none`, `low` or `max`; one that no model is known to take is a warning',
  example: 'low',
});
const Format = z.looseObject({
  type: z.string().meta({ description: 'text, json_object or json_schema', example: 'json_object' }),
  json_schema: z
    .looseObject({ schema: z.unknown().optional() })
    .nullish()
    .meta({ description: 'Of a chat completion: an object with `schema`' }),
  schema: z.unknown().optional().meta({ description: 'Of a response: the JSON Schema, with an object as its root' }),
});

const AskedModel = z.string().min(1).meta({ description: 'Name of an agent, or id of one of your workflows' });

export const ChatCompletionRequest = z
  .looseObject({
    model: AskedModel,
    messages: z.array(Message).min(1).meta({ description: 'The last one is the prompt, the others are its context' }),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
    reasoning_effort: Effort,
    tools: Tools,
    tool_choice: ToolChoice,
    parallel_tool_calls: Parallel,
    response_format: Format.nullish().meta({
      description: 'The answer has to fit: one that does not is sent back to the model once, then the run fails',
    }),
  })
  .meta({
    id: 'ChatCompletionRequest',
    example: { model: 'research', messages: [{ role: 'user', content: 'What is new?' }], stream: false },
  });
export type ChatCompletionRequest = z.output<typeof ChatCompletionRequest>;

export const ResponseRequest = z
  .looseObject({
    model: AskedModel,
    input: z.union([z.string().min(1), z.array(CompatItem).min(1)]),
    tools: Tools,
    tool_choice: ToolChoice,
    parallel_tool_calls: Parallel,
    instructions: z.string().nullish(),
    stream: z.boolean().nullish(),
    background: z.boolean().nullish().meta({ description: 'Reply at once; read the run by its id' }),
    reasoning: z.looseObject({ effort: Effort }).nullish(),
    text: z
      .looseObject({ format: Format.nullish(), verbosity: z.string().nullish() })
      .nullish()
      .meta({ description: '`format` is what `response_format` is for a chat completion' }),
    previous_response_id: z
      .string()
      .nullish()
      .meta({ description: 'One of your responses that has completed: its conversation comes before the input' }),
    conversation: z
      .union([z.string(), z.looseObject({ id: z.string() })])
      .nullish()
      .meta({ description: 'One of your conversations: its items come before the input, which is added to it with the answer' }),
  })
  .meta({ id: 'ResponseRequest', example: { model: 'research', input: 'What is new?', background: true } });
export type ResponseRequest = z.output<typeof ResponseRequest>;
