import type { Config } from '../main/config.ts';
import type { SharedServices } from '../main/core.ts';
import { ParserFailure } from '../parsers/failure.ts';
import type { ParserPool } from '../parsers/pool.ts';
import type { FitArguments } from './arguments.ts';
import type { ReadPage } from './builtin/web-fetch.ts';
import type { SchemaFaults } from './mcp/listing.ts';
import { ToolUnreachable } from './source.ts';

/** Pages that tools fetch. */
export const pageReader = ({ parsers, setting }: Pick<SharedServices, 'parsers' | 'setting'>): ReadPage => {
  const deadline_ms = setting.config.READ_SECONDS * 1_000;
  return (html, owner) =>
    parsers.run('page', html, { owner, deadline_ms, slow: true }).catch((error) => {
      throw error instanceof ParserFailure ? new Error(`the page cannot be read: ${error.message}`) : error;
    });
};

/** Schemas that MCP servers send. Nobody in particular asks for them: a connection may serve several runs. A server is judged as a whole. */
export const schemaJudge =
  (parsers: ParserPool, { JUDGE_SECONDS }: Config): SchemaFaults =>
  (schemas) =>
    parsers
      .run('schemas', schemas, { owner: 'mcp', deadline_ms: JUDGE_SECONDS * 1_000 })
      .catch(({ message }: Error) => schemas.map(() => `the schemas of this server could not be judged: ${message}`));

/** The arguments of tool calls. A schema that cannot be judged is the model's to know of; a pool that has no time is tried again. */
export const argumentFitter = ({ parsers, setting }: Pick<SharedServices, 'parsers' | 'setting'>): FitArguments => {
  const deadline_ms = setting.config.JUDGE_SECONDS * 1_000;
  return async ({ name, parameters: schema }, { arguments: args, run: { owner } }) => {
    try {
      const fitted = await parsers.run('arguments', { schema, args }, { owner, deadline_ms });
      if ('arguments' in fitted) return fitted;
      return { refusal: `The arguments do not fit: ${fitted.faults.join('; ')}. Call the tool again with all of them right` };
    } catch (error) {
      if (!(error instanceof ParserFailure)) throw error;
      const sentence = `The arguments of ${name} could not be checked against its schema: ${error.message}`;
      if (error.kind === 'busy' || error.kind === 'ended') throw new ToolUnreachable(sentence);
      return { refusal: `${sentence}. The tool was not called` };
    }
  };
};
