/** The metadata of a file that a person gave to a run. */
export interface AttachedFile {
  id: string;
  name: string;
  /** The type that the content was detected as. */
  media_type: string;
  size: number;
  sha256: string;
}

/** A file in the form in which a model receives it. */
export interface ModelFile {
  name: string;
  media_type: string;
  /** The content in base64. */
  data: string;
}

const PDF = 'application/pdf';
const JPEG = 'image/jpeg';

/** The first bytes of the file types that models accept, and for some a text at another position. */
const SIGNATURES: [media_type: string, begins: string, within?: [place: number, text: string]][] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  [JPEG, '\xff\xd8\xff'],
  ['image/gif', 'GIF87a'],
  ['image/gif', 'GIF89a'],
  ['image/webp', 'RIFF', [8, 'WEBP']],
  [PDF, '%PDF-'],
];
const SIGNATURE_BYTES = 16;

const TEXT_TYPES = ['application/json', 'application/x-ndjson', 'application/xml', 'application/yaml', 'application/x-yaml'];
const BY_ENDING: Record<string, string> = {
  csv: 'text/csv',
  htm: 'text/html',
  html: 'text/html',
  json: 'application/json',
  markdown: 'text/markdown',
  md: 'text/markdown',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
};
/** The types that clients send if they do not know the type. */
const UNDECLARED = ['', 'application/octet-stream', 'binary/octet-stream'];
const SAME: Record<string, string> = {
  'audio/x-wav': 'audio/wav',
  'audio/wave': 'audio/wav',
  'audio/vnd.wave': 'audio/wav',
  'audio/mp3': 'audio/mpeg',
  'image/jpg': JPEG,
  'image/pjpeg': JPEG,
  'application/x-pdf': PDF,
  'application/csv': 'text/csv',
};

/** True if a file is given to the model as part of the prompt's text. */
export const isTextFile = ({ media_type }: Pick<AttachedFile, 'media_type'>): boolean =>
  media_type.startsWith('text/') || TEXT_TYPES.includes(media_type);

export const isImage = ({ media_type }: Pick<AttachedFile, 'media_type'>): boolean => media_type.startsWith('image/');

/** The reason a file is rejected: a sentence for its sender, and a code. */
interface FileFault {
  message: string;
  code: 'media_type_mismatch' | 'unsupported_media_type';
}

const TAKEN = 'PNG, JPEG, GIF and WebP images, PDF files and UTF-8 text are accepted';

/** The first bytes of sounds that models accept. */
const SOUND_SIGNATURES: typeof SIGNATURES = [
  ['audio/wav', 'RIFF', [8, 'WAVE']],
  ['audio/mpeg', 'ID3'],
  ...['\xff\xfb', '\xff\xf3', '\xff\xf2', '\xff\xfa'].map((begins): (typeof SIGNATURES)[number] => ['audio/mpeg', begins]),
];

/** Returns a declared type without parameters, under its usual name. */
function toCanonicalType(declared: string): string {
  const bare_type = declared.split(';')[0]!.trim().toLowerCase();
  return SAME[bare_type] ?? bare_type;
}

/**
 * Returns the type of a file that a tool returned: the one that its first bytes show, otherwise the declared one. A type that has
 * first bytes is not taken without them, because a model refuses a request with such a file.
 */
export function findReturnedType(content: Uint8Array, declared: string): string {
  const known = [...SIGNATURES, ...SOUND_SIGNATURES];
  const detected_type = matchSignature(content, known);
  if (detected_type) return detected_type;
  const canonical_type = toCanonicalType(declared);
  const is_typed = /^[a-z]+\/[a-z0-9.+-]{1,100}$/.test(canonical_type) && !known.some(([type]) => type === canonical_type);
  return is_typed ? canonical_type : 'application/octet-stream';
}

/** Returns the type of a file, detected by its content, or the fault if the declared type disagrees with it. */
export function detectMediaType(content: Uint8Array, { name, declared }: { name: string; declared: string }): string | FileFault {
  const canonical_type = toCanonicalType(declared);
  const detected_type = matchSignature(content);
  if (detected_type)
    return UNDECLARED.includes(canonical_type) || canonical_type === detected_type
      ? detected_type
      : mismatch(name, declared, detected_type);
  if (tryDecodeUtf8(content) === null)
    return { message: `${name} is of no type that a run can be given: ${TAKEN}`, code: 'unsupported_media_type' };
  if (UNDECLARED.includes(canonical_type)) return BY_ENDING[name.split('.').at(-1)!.toLowerCase()] ?? 'text/plain';
  if (isTextFile({ media_type: canonical_type })) return canonical_type;
  if (SIGNATURES.some(([type]) => type === canonical_type)) return mismatch(name, declared, 'text');
  return { message: `Files of type ${declared} cannot be given to a run: ${TAKEN}`, code: 'unsupported_media_type' };
}

const mismatch = (name: string, declared_type: string, detected_type: string): FileFault => ({
  message: `${name} is declared as ${declared_type}, but its content is ${detected_type}; send the type that it has, or none`,
  code: 'media_type_mismatch',
});

function matchSignature(content: Uint8Array, signatures = SIGNATURES): string | null {
  const start = Buffer.from(content.subarray(0, SIGNATURE_BYTES)).toString('latin1');
  const signature = signatures.find(
    ([, begins, [place, text] = [0, '']]) => start.startsWith(begins) && start.startsWith(text, place),
  );
  return signature?.[0] ?? null;
}

/** Returns the text of a file; null if it is not UTF-8 text. */
export function tryDecodeUtf8(content: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(content);
    return text.includes('\u0000') ? null : text;
  } catch {
    return null;
  }
}

/** Returns a text file as it is quoted within a prompt. */
export const quoteFile = (name: string, text: string): string => `<file name=${JSON.stringify(name)}>\n${text}\n</file>`;

const BYTES_PER_TOKEN = 4;
/** The estimate for an image or a sound. */
export const MEDIA_TOKENS = 1_600;
/** The estimate for a PDF. Vendors read each page as text and as an image; the number of pages is unknown. */
const PDF_TOKENS = 2_000;
const PDF_BYTES_PER_TOKEN = 100;

/** Estimates how many tokens a model counts for files. Models differ; the budget is settled with the usage that they report. */
export const fileTokens = (files: readonly Pick<AttachedFile, 'media_type' | 'size'>[] | null): number =>
  (files ?? []).reduce((sum, file) => sum + tokensOfFile(file), 0);

function tokensOfFile({ media_type, size }: Pick<AttachedFile, 'media_type' | 'size'>): number {
  if (isTextFile({ media_type })) return Math.ceil(size / BYTES_PER_TOKEN);
  return media_type === PDF ? PDF_TOKENS + Math.ceil(size / PDF_BYTES_PER_TOKEN) : MEDIA_TOKENS;
}

/** Returns a file name without directories and control characters, of limited length. */
export function plainFileName(name: string): string {
  const last = name.toWellFormed().split(/[/\\]/).at(-1)!;
  const characters = [...last].filter((char) => !/\p{Cc}/u.test(char)).slice(0, LONGEST_NAME);
  return characters.join('').trim() || 'file';
}
const LONGEST_NAME = 200;
