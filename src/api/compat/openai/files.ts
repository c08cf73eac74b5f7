import { plainFileName } from '../../../domain/attachments.ts';
import { AppError, type FieldError } from '../../../domain/errors.ts';
import { isUuid } from '../../../domain/uuid.ts';
import { type AskedFile, parseDataUrl } from '../../routes/attachments.ts';

/** A file of a message, and the parameter that contained it. */
export interface PlacedFile {
  file: AskedFile;
  path: string;
}

interface FileFacts {
  file_id?: unknown;
  file_data?: unknown;
  file_url?: unknown;
  filename?: unknown;
}

interface ImageFacts {
  url?: unknown;
  detail?: unknown;
  file_id?: unknown;
}

/** A part of a message that is neither text nor refusal, as chat completions and responses spell it. */
interface Part {
  type?: unknown;
  image_url?: unknown;
  file?: unknown;
  detail?: unknown;
  file_id?: unknown;
  [field: string]: unknown;
}

export const FILE_PARTS = ['image_url', 'input_image', 'file', 'input_file'];

/**
 * Returns the file of a part of a message. Refuses a part of another kind, and options that the model's input would not honour.
 */
export function parseFilePart(part: Part, path: string): AskedFile {
  switch (part.type) {
    case 'image_url':
      return parseImage(expandShorthand(part.image_url, 'url'), { path: `${path}.image_url` });
    case 'input_image':
      return parseImage({ url: part.image_url, detail: part.detail, file_id: part.file_id }, { path });
    case 'file':
      return parseDocument(expandShorthand(part.file, 'file_data'), { path: `${path}.file` });
    case 'input_file':
      return parseDocument(part, { path });
    default:
      throw createRefusal(
        path,
        'unsupported_content',
        `Parts of type ${part.type} are not supported; send text, images and files`,
      );
  }
}

const expandShorthand = (value: unknown, shorthand: string): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : { [shorthand]: value };

function parseImage({ url, detail, file_id }: ImageFacts, { path }: { path: string }): AskedFile {
  if (!isAbsent(detail) && detail !== 'auto')
    throw createRefusal(path, 'unsupported_value', 'detail is not supported with this value; send auto, or leave it out');
  if (!isAbsent(file_id)) return parseFileId(file_id, { path, alone: isAbsent(url) });
  const image = typeof url === 'string' ? parseDataUrl(url) : null;
  if (!image) throw createRefusal(path, 'unsupported_value', isAddress(url) ? NOT_FETCHED : NO_IMAGE);
  const [, kind] = /^image\/([\w.+-]+)/.exec(image.declared) ?? [];
  if (!kind)
    throw createRefusal(path, 'unsupported_value', `An image has a type such as image/png, not ${image.declared || 'none'}`);
  return { name: `image.${kind}`, ...image };
}

function parseDocument({ file_id, file_data, file_url, filename }: FileFacts, { path }: { path: string }): AskedFile {
  if (!isAbsent(file_url)) throw createRefusal(path, 'unsupported_value', NOT_FETCHED);
  if (!isAbsent(file_id)) return parseFileId(file_id, { path, alone: isAbsent(file_data) });
  if (typeof file_data !== 'string')
    throw createRefusal(
      path,
      'unsupported_value',
      'A file has file_data with its content in base64, or the file_id of an upload',
    );
  const document = parseDataUrl(file_data.startsWith('data:') ? file_data : `data:;base64,${file_data}`);
  if (!document) throw createRefusal(path, 'unsupported_value', 'file_data is not base64');
  return { ...document, name: plainFileName(typeof filename === 'string' ? filename : '') };
}

function parseFileId(file_id: unknown, { path, alone }: { path: string; alone: boolean }): AskedFile {
  if (!alone) throw createRefusal(path, 'unsupported_value', 'Send either file_id or the content of the file');
  if (typeof file_id === 'string' && isUuid(file_id)) return { id: file_id };
  throw createRefusal(
    path,
    'file_not_found',
    `No file with id ${file_id}; file_id is the id that POST /api/attachments returned`,
  );
}

const isAbsent = (value: unknown) => value === undefined || value === null;
const isAddress = (url: unknown) => typeof url === 'string' && /^https?:/i.test(url);

const NOT_FETCHED =
  'Addresses are not fetched; send the content as a data URL such as data:image/png;base64,…, or upload it with POST /api/attachments and send its file_id';
const NO_IMAGE = 'An image is a data URL in base64, such as data:image/png;base64,…, or the file_id of an upload';

const createRefusal = (path: string, code: string, message: string) =>
  new AppError('invalid', message, { code, errors: [{ path, message }] });

/** Matches the names of a prompt's files in error paths. */
const ATTACHMENT = /^attachments(?:\.(\d+))?/;

/** Does the work; if it refuses files, the refusal names the parameters that contained them. */
export async function withFilePaths<T>(files: readonly PlacedFile[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || !error.errors?.every(({ path }) => ATTACHMENT.test(path))) throw error;
    const { kind, code, errors } = error;
    const message = errors.map((field_error) => field_error.message).join('; ');
    const field_errors = errors.map(
      (field_error): FieldError => ({ ...field_error, path: toRequestPath(field_error.path, files) }),
    );
    throw new AppError(kind === 'unprocessable' ? 'invalid' : kind, message, { code, errors: field_errors });
  }
}

function toRequestPath(path: string, files: readonly PlacedFile[]): string {
  const [, index] = ATTACHMENT.exec(path)!;
  return (index === undefined ? files.at(-1) : files[Number(index)])!.path;
}
