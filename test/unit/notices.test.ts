import { describe, expect, it } from 'vitest';
import { MISSED } from '../../src/events/bus.ts';
import { packNotices, parseNotice, parsePacket } from '../../src/events/notice.ts';

describe('the notices of a packet', () => {
  const notice = (last: number, text = '') => JSON.stringify({ workflow_id: 'w', last, text });

  it('are in order, as many as fit by their bytes', () => {
    const notices = [notice(1, 'ä'.repeat(20)), notice(2), notice(3, 'x'.repeat(31)), notice(4), notice(5)];
    const most = Buffer.byteLength(`[${notices[0]},${notices[1]}]`);
    const packets = packNotices(notices, most);
    expect(packets.flatMap((packet) => JSON.parse(packet).map(({ last }: { last: number }) => last))).toEqual([1, 2, 3, 4, 5]);
    expect(packets.every((packet) => Buffer.byteLength(packet) <= most)).toBe(true);
    expect(packets[0]).toBe(`[${notices[0]},${notices[1]}]`);
    expect(packNotices(notices, most - 1)[0]).toBe(`[${notices[0]}]`);
    expect(packNotices([], most)).toEqual([]);
  });

  it('are read with their share of its bytes; a packet that is none has none', () => {
    const packet = `[${notice(3)},${notice(7)}]`;
    expect(parsePacket(packet).map(({ last, workflow_id, bytes }) => [last, workflow_id, bytes])).toEqual([
      [3, 'w', Math.ceil(packet.length / 2)],
      [7, 'w', Math.ceil(packet.length / 2)],
    ]);
    for (const broken of ['', '{', '{"last":1}']) expect(parsePacket(broken)).toEqual([]);
  });
});

it('a notice that cannot be read means that some were missed', () => {
  expect(parseNotice('{"last":7,"task_id":"t"}')).toEqual({ last: 7, task_id: 't', bytes: 24 });
  for (const broken of ['', '{', 'x']) expect(parseNotice(broken)).toEqual(MISSED);
});
