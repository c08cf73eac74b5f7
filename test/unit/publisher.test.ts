import { expect, it } from 'vitest';
import { deltaPublisher } from '../../src/events/publisher.ts';

function told(ready: Promise<unknown> = Promise.resolve()) {
  const sent: string[] = [];
  const publisher = deltaPublisher(async (delta) => void sent.push(delta), ready);
  return { sent, publisher };
}

it('tells the first text at once and hands over what came after it, so that nothing is told twice', async () => {
  const { sent, publisher } = told();
  publisher.push('one');
  publisher.push(' two');
  publisher.push(' three');
  const rest = await publisher.rest();
  expect(sent.join('') + rest).toBe('one two three');
  expect(rest).not.toBe('');
  await publisher.flush();
  expect(sent.join('') + rest).toBe('one two three');
  expect(publisher.text()).toBe('one two three');
});

it('hands the rest over only when all before it has been told', async () => {
  let open = () => {};
  const { sent, publisher } = told(new Promise<void>((resolve) => (open = resolve)));
  publisher.push('first');
  const rest = publisher.rest();
  open();
  expect(await rest).toBe('first');
  expect(sent).toEqual([]);
});

it('lets a failure to tell surface when the rest is taken', async () => {
  const publisher = deltaPublisher(async () => Promise.reject(new Error('away')), Promise.resolve());
  publisher.push('first');
  await new Promise((resolve) => setTimeout(resolve, 5));
  await expect(publisher.rest()).rejects.toThrow('away');
});
