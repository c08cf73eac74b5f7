import { expect, it } from 'vitest';
import type { QuestionField } from '../../../src/domain/questions.ts';
import { findSecretRequest } from '../../../src/domain/secret-questions.ts';

const text = (more: object = {}): QuestionField => ({ type: 'string', ...more });
const asked = (properties: Record<string, QuestionField>, message = 'Please answer') =>
  findSecretRequest({ message, schema: { properties } });

it.each<[string, QuestionField, string?]>([
  ['password', text()],
  ['apiKey', text()],
  ['github_token', text()],
  ['value', text({ title: 'Your pass\u200Bword' })],
  ['value', text({ title: 'Ｐａｓｓｗｏｒｄ' })],
  ['value', text({ description: 'Paste your personal access token' })],
  ['value', text({ description: 'The one-time code from your phone' })],
  ['value', text({ format: 'password' })],
  ['otp', text()],
  ['code', { type: 'integer', title: 'PIN' }],
  ['value', text(), 'Enter the password of your account'],
  ['value', text(), 'Enter the pass\u200Bword of your account'],
  ['loginpasswd', text()],
  ['card_pin', { type: 'integer' }],
  ['code', { type: 'integer', description: 'The PIN of your card' }],
])('the field %s, %j, asks for a secret', (name, field, message) => expect(asked({ [name]: field }, message)).not.toBe(null));

it.each<[string, QuestionField, string?]>([
  ['email', text({ format: 'email', title: 'Email', description: 'Where the ticket goes' })],
  ['keywords', text()],
  ['primary_key', text()],
  ['max_tokens', { type: 'integer' }],
  ['tokens', { type: 'integer', description: 'How many' }],
  ['max_tokens', text()],
  ['monkey', text()],
  ['count', { type: 'integer' }, 'How many characters has the password?'],
  ['token', text({ enum: ['first', 'second'] })],
  ['reset_password', { type: 'boolean' }],
  ['choice', text({ enum: ['yes', 'no'] }), 'Reset the password?'],
  ['note', text({ description: 'A key point of the meeting' })],
])('the field %s, %j, does not', (name, field, message) => expect(asked({ [name]: field }, message)).toBe(null));
