import { statement } from '../database/statement.ts';

export const effortsOfDefinitions = statement(
  'efforts_of_definitions',
  ['hashes'],
  `SELECT hash, body -> 'settings' ->> 'reasoning_effort' AS effort FROM definitions WHERE hash = ANY (:hashes::text[])`,
);

export const findDefinition = statement('find_definition', ['hash'], `SELECT body FROM definitions WHERE hash = :hash`);

/** A database function for the role of tools workers (../upkeep/tools-role.ts), which may not read whole definitions. */
export const CALL_DEFINITION = 'definition_for_calls';

export const findCallDefinition = statement('find_call_definition', ['hash'], `SELECT ${CALL_DEFINITION}(:hash) AS body`);

/** True if this process has the role of tools workers. */
export const restrictedRole = statement(
  'restricted_role',
  [],
  `SELECT NOT has_column_privilege('definitions', 'body', 'SELECT') AS restricted`,
);
