import { statement } from '../statement.ts';

export const findDefinition = statement('find_definition', ['hash'], `SELECT body FROM definitions WHERE hash = :hash`);
