import { exactly, toDoubles } from '../../domain/exact-json.ts';
import { asOutage } from '../../domain/outages.ts';
import { ParserFailure } from '../../parsers/failure.ts';
import type { ParserPool } from '../../parsers/pool.ts';
import type { FitArguments } from '../../tools/arguments.ts';
import type { ReadPage } from '../../tools/builtin/web-fetch.ts';
import type { SchemaFaults } from '../../tools/mcp/listing.ts';
import { fitsOwnSchema } from '../../tools/own-schemas.ts';
import { ToolUnreachable } from '../../tools/source.ts';
import type { Config } from '../config.ts';
import type { SharedServices } from '../core.ts';

/** Returns what the environment sets of the parser pool and the judge of guardrails. */
export const getParserSettings = ({ PARSER_PROCESSES: processes, JUDGE_SECONDS }: Config) => ({
  pool: { processes },
  judge: { deadline_ms: JUDGE_SECONDS * 1_000 },
});

/** Parses pages that tools fetch. */
export const pageReader = ({ parsers, setting }: Pick<SharedServices, 'parsers' | 'setting'>): ReadPage => {
  const deadline_ms = setting.config.READ_SECONDS * 1_000;
  return (html, owner) =>
    parsers.run('page', html, { owner, deadline_ms, slow: true }).catch((error) => {
      throw error instanceof ParserFailure ? new Error(`the page cannot be read: ${error.message}`) : error;
    });
};

/** The most schemas of one server that may exceed their time; larger ones are not tried after that. */
const MOST_FAILED = 4;

/**
 * Checks schemas from MCP servers. They count for no principal, since a connection may serve several runs. They are checked
 * together. If that fails, each is checked alone, the smallest first, so that a costly schema excludes only its own tool.
 */
export function schemaJudge(parsers: ParserPool, { JUDGE_SECONDS }: Config): SchemaFaults {
  const judge = (schemas: readonly unknown[], seconds: number) =>
    parsers.run('schemas', schemas, { owner: 'mcp', deadline_ms: seconds * 1_000 });

  async function judgeAlone(schemas: readonly unknown[]): Promise<(string | null)[]> {
    const errors: (string | null)[] = schemas.map(() => null);
    const sizes = schemas.map((schema) => JSON.stringify(schema).length);
    let failed = 0;
    for (const index of [...schemas.keys()].sort((one, other) => sizes[one]! - sizes[other]!)) {
      if (failed === MOST_FAILED) {
        errors[index] = `it was not checked, since ${failed} smaller schemas of this server could not be checked`;
        continue;
      }
      try {
        errors[index] = (await judge([schemas[index]], JUDGE_SECONDS / 2))[0] ?? null;
      } catch (error) {
        failed += 1;
        errors[index] = `it could not be checked: ${(error as Error).message}`;
      }
    }
    return errors;
  }

  return (schemas) => judge(schemas, JUDGE_SECONDS).catch(() => judgeAlone(schemas));
}

/**
 * Checks the arguments of tool calls. The parser process compiles the schemas of custom tools, MCP servers and clients, because a schema
 * may take any time. A schema that cannot be checked is reported to the model; a busy pool is retried.
 */
export const argumentFitter = ({ parsers, setting }: Pick<SharedServices, 'parsers' | 'setting'>): FitArguments => {
  const deadline_ms = setting.config.JUDGE_SECONDS * 1_000;
  return async ({ name, parameters: schema }, { arguments: args, run: { owner } }) => {
    if (fitsOwnSchema(schema, args)) return { arguments: args };
    try {
      const fit = await parsers.run('arguments', { schema, args: toDoubles(args) }, { owner, deadline_ms });
      if ('arguments' in fit) return { arguments: exactly(fit.arguments, args) };
      return { refusal: `The arguments do not fit: ${fit.faults.join('; ')}. Correct them and call the tool again` };
    } catch (error) {
      if (!(error instanceof ParserFailure)) throw error;
      const sentence = `The arguments of ${name} could not be checked against its schema: ${error.message}`;
      // The tool was not asked, so this does not count as an error of the tool.
      if (error.kind === 'busy' || error.kind === 'ended')
        throw asOutage(new ToolUnreachable(sentence), { code: 'parsers_unavailable', sentence });
      return { refusal: `${sentence}. The tool was not called` };
    }
  };
};
