import { UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type MouseEvent, useEffect, useRef, useState } from 'react';
import { Dialog } from '../ui/dialog.tsx';
import { Loaded } from '../ui/states.tsx';
import { DocsText } from './docs-text.tsx';
import { findPlace } from './links.ts';
import { useDocsPage } from './use-docs-page.ts';

interface HelpButtonProps {
  /** The page and the heading, as in `runs#budget`. */
  place: string;
  /** What it explains, for the button's name: `Help: Budgets`. */
  about: string;
}

/** A question mark that opens a page of the docs above the screen, so that nothing typed there is lost. */
export function HelpButton({ place, about }: HelpButtonProps) {
  const [opened, dialog] = useDisclosure();
  return (
    <>
      <UnstyledButton className="help-button" aria-label={`Help: ${about}`} onClick={dialog.open}>
        ?
      </UnstyledButton>
      <Dialog opened={opened} onClose={dialog.close} title={`Help: ${about}`} size="xl">
        <Pages first={place} />
      </Dialog>
    </>
  );
}

/** Shows one page, and in its place each other page of the docs that a link in it leads to. */
function Pages({ first }: { first: string }) {
  const [place, setPlace] = useState(first);
  const element = useRef<HTMLDivElement>(null);
  const [page = '', section = ''] = place.split('#');
  const query = useDocsPage(page);
  useEffect(() => {
    const target = section ? `#${CSS.escape(section)}` : '.docs';
    if (query.data) element.current?.querySelector(target)?.scrollIntoView();
  }, [query.data, section]);
  const follow = (event: MouseEvent) => {
    const link = (event.target as Element).closest('a');
    if (link?.origin !== location.origin) return;
    event.preventDefault();
    setPlace(findPlace(link, page));
  };
  return (
    <Loaded query={query}>
      {(text) => (
        // Links are followed before they would leave the screen.
        <div ref={element} onClickCapture={follow}>
          <DocsText>{text}</DocsText>
        </div>
      )}
    </Loaded>
  );
}
