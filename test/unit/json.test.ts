import { expect, it } from 'vitest';
import { parsedJson } from '../../src/dashboard/ui/json.ts';

it.each<[string, ReturnType<typeof parsedJson>]>([
  ['{"a":[1,null]}', { value: { a: [1, null] } }],
  ['null', { value: null }],
  ['{"a":', { wrong: 'Not valid JSON: Unexpected end of JSON input' }],
  ['', { wrong: 'Not valid JSON: Unexpected end of JSON input' }],
])('the text %j that a person entered', (text, parsed) => expect(parsedJson(text)).toEqual(parsed));
