import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

export interface Mail {
  from: string;
  to: string[];
  /** The names are in lower case. */
  headers: Record<string, string>;
  text: string;
  /** The credentials of AUTH PLAIN, as `user password`; null: none were sent. */
  login: string | null;
}

/** Starts a mail server that keeps what it takes. `answers` are its next replies to a recipient; then it takes every one. */
export async function startSmtpReceiver() {
  const mails: Mail[] = [];
  const answers: string[] = [];
  const sockets = new Set<Socket>();
  let silent = false;
  let delay_ms = 0;
  let open = 0;
  let most_open = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    open += 1;
    most_open = Math.max(most_open, open);
    let on_its_way = true;
    const arrived = () => {
      if (on_its_way) open -= 1;
      on_its_way = false;
    };
    socket.on('close', () => sockets.delete(socket) && arrived()).on('error', () => {});
    const say = (line: string) => void (silent || setTimeout(() => socket.write(`${line}\r\n`), delay_ms));
    let draft: Mail = empty();
    let body: string[] | null = null;
    say('220 receiver ESMTP');
    createInterface({ input: socket }).on('line', (line) => {
      if (body) {
        if (line !== '.') return void body.push(line.replace(/^\.\./, '.'));
        mails.push({ ...draft, ...parse(body) });
        arrived();
        [draft, body] = [{ ...empty(), login: draft.login }, null];
        return say('250 taken');
      }
      const [, address = ''] = /<(.*?)>/.exec(line) ?? [];
      if (/^EHLO/i.test(line)) return say('250-receiver\r\n250 AUTH PLAIN');
      if (/^AUTH PLAIN /i.test(line)) {
        const [, user, password] = Buffer.from(line.slice(11), 'base64').toString().split('\0');
        draft.login = `${user} ${password}`;
        return say('235 welcome');
      }
      if (/^MAIL FROM/i.test(line)) draft.from = address;
      if (/^RCPT TO/i.test(line)) {
        const answer = answers.shift() ?? '250 ok';
        if (answer.startsWith('250')) draft.to.push(address);
        return say(answer);
      }
      if (/^DATA/i.test(line)) {
        body = [];
        return say('354 send it');
      }
      say(/^QUIT/i.test(line) ? '221 bye' : '250 ok');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    mails,
    /** The most mails that were on their way at a time. */
    mostAtATime: () => most_open,
    answers: (...replies: string[]) => void answers.push(...replies),
    /** Makes it take connections and say nothing. */
    silence() {
      silent = true;
    },
    /** Makes it answer each command after some time. */
    dawdle(ms: number) {
      delay_ms = ms;
    },
    isUnused: () => sockets.size === 0,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const empty = (): Mail => ({ from: '', to: [], headers: {}, text: '', login: null });

const unquote = (text: string) =>
  decodeURIComponent(
    text
      .replaceAll('%', '=25')
      .replaceAll('=\n', '')
      .replaceAll(/=([0-9A-F]{2})/g, '%$1'),
  );

function parse(lines: string[]): Pick<Mail, 'headers' | 'text'> {
  const end = lines.indexOf('');
  const unfolded = lines
    .slice(0, end)
    .join('\n')
    .replaceAll(/\n[ \t]/g, ' ')
    .split('\n');
  const headers = Object.fromEntries(
    unfolded.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
  const text = lines.slice(end + 1).join('\n');
  return { headers, text: headers['content-transfer-encoding'] === 'quoted-printable' ? unquote(text) : text };
}
