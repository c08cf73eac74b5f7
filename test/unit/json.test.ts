import { expect, it } from 'vitest';
import { parseJson } from '../../src/dashboard/ui/json.ts';

it.each<[string, ReturnType<typeof parseJson>]>([
  ['{"a":[1,null]}', { value: { a: [1, null] } }],
  ['null', { value: null }],
  ['{"a":', { wrong: 'Not valid JSON: Unexpected end of JSON input' }],
  ['', { wrong: 'Not valid JSON: Unexpected end of JSON input' }],
])('the text %j that a person entered', (text, parsed) => expect(parseJson(text)).toEqual(parsed));
