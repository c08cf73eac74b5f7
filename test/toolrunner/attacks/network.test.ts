import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, MAIN_TIERS, openBench } from '../support.ts';
import { ATTACKED, attack, attacks, type Host, openHost, sourceOf } from './host.ts';

const network = { call: { network: true } };
/** Landlock 3 has no rules for the network, so no call gets it: `lifecycle.test.ts`. */
const WITH_NETWORK = Object.fromEntries(Object.entries(ATTACKED).filter(([, { landlock_level }]) => landlock_level !== 3));
const tcp = (address: string, port: string) =>
  `s = socket.create_connection((${address}, ${port}), 2); s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n"); return s.recv(4096).decode()`;
const get = (url: string) => `import urllib.request\nreturn urllib.request.urlopen(${url}, timeout=2).read().decode()`;
const refused = {
  call: { network: true },
  expect: ({ error }: { error: string | null }) =>
    expect(error).toMatch(/403|407|not allowed|refused|Forbidden|Bad|Name or service|unknown url/i),
};
const speak = (text: string) => `
import urllib.parse
u = urllib.parse.urlparse(os.environ["HTTP_PROXY"])
import base64
auth = base64.b64encode(f"{u.username}:{u.password}".encode()).decode()
s = socket.create_connection((u.hostname, u.port), 2)
s.sendall((${text}).encode().replace(b"AUTH", b"Proxy-Authorization: Basic " + auth.encode()))
s.settimeout(1)
data = b""
try:
    while len(data) < 65536:
        more = s.recv(4096)
        if not more: break
        data += more
except OSError: pass
data = data.decode("latin1")
print(data)
return "200" in data.split("\\r\\n")[0]`;
const PLAIN = speak('f"GET http://127.0.0.1:{h[\'port\']}/ HTTP/1.1\\r\\nHost: x\\r\\nAUTH\\r\\n\\r\\n"');
const HIDDEN = speak(
  'f"GET http://example.com@127.0.0.1:{h[\'port\']}/#@example.com HTTP/1.1\\r\\nHost: x\\r\\nAUTH\\r\\n\\r\\n"',
);

// What these send to the proxy is understood: where loopback is allowed they win.
describe.each(Object.entries(MAIN_TIERS))(
  'an attack that speaks to the proxy, with loopback allowed, in the tier %s',
  (_, tier) => {
    let host: Host;
    let bench: Bench;
    beforeAll(async () => {
      host = await openHost();
      bench = await openBench({ ...tier, timeout_ms: 10_000, egress_allow: ['127.0.0.1'] });
    });
    afterAll(async () => {
      await bench.runner.close();
      await host.close();
    });
    it.each([
      ['a plain request', PLAIN],
      ['an address hidden behind user and fragment', HIDDEN],
    ])('wins: %s', async (_name, body) => {
      const answer = await bench.call(sourceOf(body), { arguments: { h: host.facts }, network: true });
      expect(answer).toMatchObject({ error: null, result: '{"result": true}' });
      expect(answer.stdout).toContain(host.canary);
    });
  },
);

attacks('an attack over the network without permission', [
  attack('a connection to loopback', tcp('"127.0.0.1"', 'h["port"]')),
  attack('a connection to loopback over IPv6', tcp('"::1"', 'h["port6"]')),
  attack('a connection to the address of every interface', tcp('"0.0.0.0"', 'h["port"]')),
  attack(
    'a datagram to loopback',
    's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.5); s.sendto(b"x", ("127.0.0.1", h["udp"])); return s.recv(99).decode()',
  ),
  attack('a unix socket of the service', 's = socket.socket(socket.AF_UNIX); s.connect(h["path"]); return s.recv(99).decode()'),
  attack(
    'an abstract unix socket of the service',
    's = socket.socket(socket.AF_UNIX); s.connect("\\0" + h["abstract"]); return s.recv(99).decode()',
  ),
  attack(
    'the container engine',
    'for p in ("/var/run/docker.sock", "/run/containerd/containerd.sock"):\n    s = socket.socket(socket.AF_UNIX); s.connect(p)\nreturn True',
  ),
  attack(
    'the sandbox’s own sockets',
    `
found = []
for p in glob.glob("/tmp/perdura-tools-*/*.sock") + glob.glob("/run/perdura/*") + [a.decode() + "/zygote-1.sock" for a in open("/proc/1/cmdline", "rb").read().split(b"\\0") if b"perdura-tools" in a]:
    s = socket.socket(socket.AF_UNIX)
    try: s.connect(p); found.append(p)
    except OSError: pass
return found`,
  ),
  attack('the metadata service', tcp('"169.254.169.254"', '80')),
  attack('resolving a name', 'return socket.getaddrinfo("example.com", 80)'),
  attack(
    'asking a name server',
    's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.3); s.sendto(b"x" * 30, ("8.8.8.8", 53)); return True',
  ),
  attack(
    'multipath TCP',
    's = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); s.settimeout(1); s.connect(("127.0.0.1", h["port"])); return s.recv(999).decode()',
  ),
  attack(
    'fast open',
    's = socket.socket(); s.sendto(b"GET / HTTP/1.0\\r\\n\\r\\n", 0x20000000, ("127.0.0.1", h["port"])); return s.recv(999).decode()',
  ),
  attack('a virtual machine socket', 'return socket.socket(40, socket.SOCK_STREAM)'),
  attack(
    'its own interface',
    'import fcntl, struct\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x41)); return True',
  ),
]);

const WITH_PERMISSION = [
  attack('a direct connection to loopback', tcp('"127.0.0.1"', 'h["port"]'), network),
  attack('a direct connection over IPv6', tcp('"::1"', 'h["port6"]'), network),
  attack(
    'a datagram to loopback',
    's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.5); s.sendto(b"x", ("127.0.0.1", h["udp"])); return s.recv(99).decode()',
    network,
  ),
  attack(
    'a unix socket of the service',
    's = socket.socket(socket.AF_UNIX); s.connect(h["path"]); return s.recv(99).decode()',
    network,
  ),
  attack(
    'an abstract unix socket of the service',
    's = socket.socket(socket.AF_UNIX); s.connect("\\0" + h["abstract"]); return s.recv(99).decode()',
    network,
  ),
  attack(
    'multipath TCP',
    's = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); s.settimeout(1); s.connect(("127.0.0.1", h["port"])); return s.recv(999).decode()',
    network,
  ),
  attack(
    'fast open',
    's = socket.socket(); s.sendto(b"GET / HTTP/1.0\\r\\n\\r\\n", 0x20000000, ("127.0.0.1", h["port"])); return s.recv(999).decode()',
    network,
  ),
  attack('loopback through the proxy', get('f"http://127.0.0.1:{h[\'port\']}/"'), refused),
  attack('loopback by name', get('f"http://localhost:{h[\'port\']}/"'), refused),
  attack('loopback as one number', get('f"http://2130706433:{h[\'port\']}/"'), refused),
  attack('loopback in hexadecimal', get('f"http://0x7f.1:{h[\'port\']}/"'), refused),
  attack('loopback in octal', get('f"http://0177.0.0.1:{h[\'port\']}/"'), refused),
  attack('the address of no interface', get('f"http://0.0.0.0:{h[\'port\']}/"'), refused),
  attack('loopback over IPv6', get('f"http://[::1]:{h[\'port6\']}/"'), refused),
  attack('loopback mapped into IPv6', get('f"http://[::ffff:127.0.0.1]:{h[\'port\']}/"'), refused),
  attack('loopback mapped in hexadecimal', get('f"http://[::ffff:7f00:1]:{h[\'port\']}/"'), refused),
  attack('loopback translated (NAT64)', get('"http://[64:ff9b::7f00:1]/"'), refused),
  attack('the metadata service', get('"http://169.254.169.254/latest/meta-data/"'), refused),
  attack('a private network', get('"http://10.0.0.1/"'), refused),
  attack('loopback inside a tunnel', get('f"https://127.0.0.1:{h[\'port\']}/"'), {
    ...refused,
    uncontrolled: 'the service speaks no TLS; it is the proxy that must refuse',
  }),
  attack('an address hidden behind user and fragment', HIDDEN, network),
  attack('a file through the proxy', speak('"GET file:///etc/passwd HTTP/1.1\\r\\nHost: x\\r\\nAUTH\\r\\n\\r\\n"'), network),
  attack('a unix socket through the proxy', speak('f"CONNECT {h[\'path\']} HTTP/1.1\\r\\nAUTH\\r\\n\\r\\n"'), network),
  attack(
    'a request without its pass',
    speak('f"GET http://127.0.0.1:{h[\'port\']}/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"'),
    network,
  ),
  attack(
    'a request with a forged pass',
    speak('"CONNECT 1.1.1.1:443 HTTP/1.1\\r\\nProxy-Authorization: Basic Y2FsbDpndWVzcw==\\r\\n\\r\\n"'),
    network,
  ),
  attack(
    'a second request smuggled behind the first',
    speak(
      'f"GET http://127.0.0.1:1/ HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\nAUTH\\r\\n\\r\\n0\\r\\n\\r\\nGET http://127.0.0.1:{h[\'port\']}/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"',
    ),
    network,
  ),
  attack('garbage to the proxy', speak('"\\0" * 70000 + "AUTH"'), network),
  attack(
    'hundreds of connections',
    `
import urllib.parse
u = urllib.parse.urlparse(os.environ["HTTP_PROXY"]); kept = []
try:
    while len(kept) < 240: kept.append(socket.create_connection((u.hostname, u.port), 1))
except OSError: pass
return False`,
    network,
  ),
];

attacks('an attack over the network with permission', WITH_PERMISSION, {}, WITH_NETWORK);
