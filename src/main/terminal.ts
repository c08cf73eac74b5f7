/** Models, tools and other people write what they like; without control characters they cannot steer a terminal. */
export const printable = (text: string): string => text.replaceAll(/(?![\n\t])\p{Cc}/gu, '');

/** What a stream gets of a text: a terminal gets it without control characters, a file or a program as it is. */
export const sanitizeOutput = ({ isTTY }: { isTTY?: boolean }, text: string): string => (isTTY ? printable(text) : text);

export const print = (text: string): void => void process.stdout.write(sanitizeOutput(process.stdout, text));

/** For a person who watches, not for what reads the output. */
export const printError = (text: string): void => void process.stderr.write(sanitizeOutput(process.stderr, text));

export const say = (line: string): void => print(`${line}\n`);
export const note = (line: string): void => printError(`${line}\n`);
export const sayJson = (value: unknown): void => say(JSON.stringify(value, null, 2));

/** The exit code of a program that SIGPIPE ends. */
const READER_GONE = 141;

/** Ends the process without a word once nobody reads its output, as in `perdura tasks ls | head -1`. A server `stays`. */
export function endWithReader(stays: boolean): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      if (!stays) process.exit(READER_GONE);
    });
}
