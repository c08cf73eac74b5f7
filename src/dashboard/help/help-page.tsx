import { Anchor, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { ArrowUpRight } from 'lucide-react';
import { type ReactNode, useEffect } from 'react';
import { Link, useLocation, useParams } from 'react-router';
import { Page } from '../ui/page.tsx';
import { Loading } from '../ui/states.tsx';
import { DocsText } from './docs-text.tsx';
import { HELP_PAGES } from './pages.ts';
import { useDocsPage } from './use-docs-page.ts';

/** The docs of this release: what there is, or one page of them. */
export default function Help() {
  const { page } = useParams();
  return page ? <HelpPage key={page} name={page} /> : <Contents />;
}

function Contents() {
  return (
    <Page title="Docs">
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="md">
        {HELP_PAGES.map(({ title, pages }) => (
          <Stack key={title} gap={6} className="panel">
            <Title order={2}>{title}</Title>
            {pages.map(([name, text]) => (
              <Anchor key={name} component={Link} to={`/help/${name}`}>
                {text}
              </Anchor>
            ))}
          </Stack>
        ))}
      </SimpleGrid>
      <Text c="dimmed">
        These pages are part of this release. The{' '}
        <Outside href="/docs">
          API reference <ArrowUpRight size={13} aria-hidden />
        </Outside>{' '}
        describes each operation.
      </Text>
    </Page>
  );
}

const Outside = ({ href, children }: { href: string; children: ReactNode }) => (
  <Anchor href={href} target="_blank" underline="always">
    {children}
  </Anchor>
);

function HelpPage({ name }: { name: string }) {
  const { data, isPending } = useDocsPage(name);
  const [heading = '', ...body] = data?.split('\n') ?? [];
  const title = heading.replace(/^# /, '') || 'Docs';
  useScrollToSection(data);
  return (
    <Page title={title} parent={{ to: '/help', title: 'Docs' }}>
      {isPending && <Loading what="Loading the page" />}
      {data && <DocsText>{body.join('\n')}</DocsText>}
    </Page>
  );
}

/** Scrolls to the section in the address once its page has been read. */
function useScrollToSection(text: string | undefined): void {
  const { hash } = useLocation();
  useEffect(() => {
    if (text && hash) document.getElementById(decodeURIComponent(hash.slice(1)))?.scrollIntoView();
  }, [text, hash]);
}
