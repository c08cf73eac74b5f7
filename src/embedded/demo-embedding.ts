import { createHash } from 'node:crypto';

const DIMENSIONS = 256;

/**
 * Returns a hashed bag of words: texts that share words are near each other, and meaning plays no part. The same text always
 * has the same vector.
 */
export function embed(text: string): number[] {
  const vector = new Array<number>(DIMENSIONS).fill(0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const hash = createHash('sha256').update(word).digest();
    const place = hash.readUInt16LE(0) % DIMENSIONS;
    vector[place] = (vector[place] ?? 0) + ((hash[2] ?? 0) & 1 ? 1 : -1);
  }
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}

/** Encodes a vector as OpenAI's own client requests it: 32-bit floats, little-endian, in base64. */
export const inBase64 = (vector: readonly number[]): string => Buffer.from(Float32Array.from(vector).buffer).toString('base64');
