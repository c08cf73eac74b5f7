import type { AlertMessage } from './alerts.ts';
import { inOneLine } from './reason.ts';
import type { AlertMeasure } from './statuses.ts';

const roundToTenth = (value: number) => Math.round(value * 10) / 10;

const VALUES: Record<AlertMeasure, (value: number) => string> = {
  failure_rate: (value) => `${roundToTenth(value)} % of the runs failed`,
  spend: (value) => `$${value.toFixed(2)} spent`,
  waiting: (value) => `a run has waited for ${roundToTenth(value)} minutes`,
  provider_errors: (value) => `${value} failed requests to models`,
  backlog: (value) => `${value} pending runs`,
  budget: (value) => `${roundToTenth(value)} % of the budget spent`,
};
const WINDOWED: readonly AlertMeasure[] = ['failure_rate', 'spend', 'provider_errors'];

const HEADS = { 'alert.fired': 'Alert fired', 'alert.resolved': 'Alert resolved', 'alert.test': 'Test of an alert' };

/** What a message says, in words. Only `name` is text of a person. */
interface AlertText {
  head: string;
  name: string;
  facts: [label: string, text: string][];
  /** The address of the alert in the dashboard; null: not known. */
  link: string | null;
}

function toText({ type, timestamp, data }: AlertMessage, public_url: string | null): AlertText {
  const { measure, value, threshold, window_minutes, fired_at, alert_id } = data;
  const is_over = type === 'alert.resolved';
  return {
    head: HEADS[type],
    name: inOneLine(data.name),
    facts: [
      ['Measured', VALUES[measure](value)],
      ['Fires at', VALUES[measure](threshold)],
      ...(WINDOWED.includes(measure) ? [['Window', `${window_minutes} minutes`] as [string, string]] : []),
      [type === 'alert.test' ? 'Sent at' : 'Fired at', fired_at],
      ...(is_over ? [['Resolved at', timestamp] as [string, string]] : []),
    ],
    link: public_url && new URL(`/dashboard/alerts/${alert_id}`, public_url).href,
  };
}

/** Slack reads mentions and links between `<` and `>`. */
const escapeSlack = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function toSlack({ head, name, facts, link }: AlertText) {
  // Verbatim: Slack itself makes no mentions, channels and links.
  const mrkdwn = (text: string) => ({ type: 'mrkdwn', text, verbatim: true });
  return {
    text: `${head}: ${escapeSlack(name)}`,
    blocks: [
      { type: 'section', text: mrkdwn(`*${head}*: ${escapeSlack(name)}`) },
      { type: 'section', fields: facts.map(([label, text]) => mrkdwn(`*${label}*\n${escapeSlack(text)}`)) },
      ...(link ? [{ type: 'section', text: mrkdwn(`<${escapeSlack(link)}|Open the alert>`) }] : []),
    ],
  };
}

/** An Adaptive Card, as a workflow of Teams posts it. A text run is not read as Markdown, so that a name is only a name. */
const toTeams = ({ head, name, facts, link }: AlertText) => ({
  type: 'message',
  attachments: [
    {
      contentType: 'application/vnd.microsoft.card.adaptive',
      contentUrl: null,
      content: {
        $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
        type: 'AdaptiveCard',
        version: '1.4',
        body: [
          { type: 'TextBlock', text: head, weight: 'Bolder', size: 'Medium', wrap: true },
          { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: name }] },
          { type: 'FactSet', facts: facts.map(([title, value]) => ({ title, value })) },
        ],
        ...(link ? { actions: [{ type: 'Action.OpenUrl', title: 'Open the alert', url: link }] } : {}),
      },
    },
  ],
});

const escapeMarkdown = (text: string) => text.replaceAll(/[\\`*_~|<>[\]()#@:-]/g, String.raw`\$&`);
const COLOURS = { 'alert.fired': 0xc92a2a, 'alert.resolved': 0x2b8a3e, 'alert.test': 0x868e96 };

const toDiscord = ({ head, name, facts, link }: AlertText, { type, timestamp }: AlertMessage) => ({
  // Nobody is notified, whatever a name contains.
  allowed_mentions: { parse: [] },
  embeds: [
    {
      title: head,
      description: escapeMarkdown(name),
      color: COLOURS[type],
      timestamp,
      fields: facts.map(([label, value]) => ({ name: label, value, inline: true })),
      ...(link ? { url: link } : {}),
    },
  ],
});

/** Formats a message about an alert as a chat expects it. */
export function toChatMessage(channel: 'slack' | 'teams' | 'discord', message: AlertMessage, public_url: string | null): object {
  const text = toText(message, public_url);
  switch (channel) {
    case 'slack':
      return toSlack(text);
    case 'teams':
      return toTeams(text);
    case 'discord':
      return toDiscord(text, message);
  }
}

/** Formats a message about an alert as an e-mail in plain text. */
export function toMail(message: AlertMessage, public_url: string | null): { subject: string; text: string } {
  const { head, name, facts, link } = toText(message, public_url);
  const lines = [`${head}: ${name}`, '', ...facts.map(([label, text]) => `${label}: ${text}`)];
  return { subject: `${head}: ${name}`, text: `${[...lines, ...(link ? ['', link] : [])].join('\n')}\n` };
}
