import { Button, type ButtonProps } from '@mantine/core';
import { Link } from 'react-router';
import type { Scope } from '../../domain/access.ts';
import { useRefusal } from '../api/may.ts';

interface FormLinkProps extends Pick<ButtonProps, 'size' | 'variant'> {
  to: string;
  /** The scope that the linked form needs. */
  needs: Scope | null;
  children: string | string[];
}

/** A link to a form; it is hidden from people who may not send the form. */
export function FormLink({ needs, ...props }: FormLinkProps) {
  const refusal = useRefusal(needs);
  return refusal ? null : <Button component={Link} {...props} />;
}
