import { Ajv2020 } from 'ajv/dist/2020.js';
import { toDoubles } from '../domain/exact-json.ts';
import { builtinSpecs } from './builtin/index.ts';

/** The schemas that Perdura wrote itself. They are known as objects: a copy, or another schema with the same text, is foreign. */
const OWN = new Set(builtinSpecs().map(({ parameters }) => parameters));

/** Compiles each schema once, and stops at the first fault. */
const ajv = new Ajv2020({ strict: false, logger: false, validateFormats: false });

/**
 * True if the schema is Perdura's own and the arguments fit it as they are, so that the parser process need not be asked. False for a
 * foreign schema, which only the parser process may compile, and for arguments that it has to convert or refuse.
 */
export const fitsOwnSchema = (schema: Record<string, unknown>, args: Record<string, unknown>): boolean =>
  OWN.has(schema) && ajv.compile(schema)(toDoubles(args));
