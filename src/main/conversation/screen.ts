import { clearScreenDown, cursorTo, type Interface, type Key } from 'node:readline';
import { note, print, printError, say } from '../terminal.ts';

/** Where a conversation writes: the text of replies, and lines for the person. */
export interface Output {
  write(text: string): void;
  /** Ends the line of the text. */
  endLine(): void;
  note(line: string): void;
}

export const plainOutput: Output = { write: print, endLine: () => say(''), note };

export interface Prompt {
  text: string;
  /** False: it appears with the first key that is pressed. */
  visible: boolean;
}

/** A terminal on which one person types while others write. What arrives while a line is being typed waits for its end. */
export interface Screen extends Output {
  setPrompt(prompt: Prompt): void;
  /** Runs what writes to the terminal by itself, as soon as no line is being typed. */
  whenFree(work: (output: Output) => void): void;
  onLine(handle: (line: string) => void): void;
  /** Removes what was typed; returns false if nothing was. */
  clearLine(): boolean;
  /** Shows all that waits, and the cursor at the beginning of a line. */
  end(): void;
}

const startsNoLine = ({ name = '', ctrl }: Key) => name === 'return' || name === 'enter' || (ctrl && 'cdz'.includes(name));

/** Creates the screen of an interface that reads from stdin and writes to stderr, both of them a terminal. */
export function createScreen(lines: Interface): Screen {
  let prompt: Prompt = { text: '> ', visible: false };
  let is_shown = false;
  let at_start = true;
  let is_ended = false;
  let held: (() => void)[] = [];
  const startLine = () => {
    if (!at_start) printError('\n');
    at_start = true;
  };
  const show = () => {
    if (is_ended) return;
    startLine();
    lines.setPrompt(prompt.text);
    lines.prompt(true);
    is_shown = true;
  };
  const hide = () => {
    if (is_shown) {
      cursorTo(process.stderr, 0);
      clearScreenDown(process.stderr);
    }
    is_shown = false;
  };
  const run = (work: () => void) => {
    if (is_shown && lines.line !== '') return void held.push(work);
    hide();
    work();
    if (prompt.visible) show();
  };
  const release = () => {
    const ready = held;
    held = [];
    for (const work of ready) run(work);
  };
  const output: Output = {
    write(text) {
      print(text);
      if (process.stdout.isTTY) at_start = text === '' ? at_start : text.endsWith('\n');
    },
    endLine() {
      if (process.stdout.isTTY) startLine();
      else say('');
    },
    note(line) {
      startLine();
      note(line);
    },
  };
  // Before readline shows what the key does, and after.
  process.stdin.prependListener('keypress', (_, key: Key) => {
    if (!is_shown && !startsNoLine(key)) show();
  });
  process.stdin.on('keypress', () => {
    if (!is_shown || lines.line !== '') return;
    if (!prompt.visible) hide();
    release();
  });
  return {
    write: (text) => run(() => output.write(text)),
    endLine: () => run(output.endLine),
    note: (line) => run(() => output.note(line)),
    whenFree: (work) => run(() => work(output)),
    setPrompt(next) {
      run(() => {
        prompt = next;
      });
    },
    onLine(handle) {
      lines.on('line', (line) => {
        [is_shown, at_start] = [false, true];
        handle(line);
        release();
      });
    },
    clearLine() {
      if (lines.line === '') return false;
      lines.write(null, { ctrl: true, name: 'e' });
      lines.write(null, { ctrl: true, name: 'u' });
      release();
      return true;
    },
    end() {
      is_ended = true;
      hide();
      release();
      startLine();
    },
  };
}
