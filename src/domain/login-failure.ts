/**
 * The kind of failure. `denied`: the issuer or the person denied the sign-in; `unreachable`: the issuer is down; `refused`:
 * everything else.
 */
type LoginFailureKind = 'denied' | 'unreachable' | 'refused';

/** The reason nobody was signed in. */
export class LoginFailure extends Error {
  readonly kind: LoginFailureKind;
  constructor(kind: LoginFailureKind, reason: string, cause: unknown) {
    super(reason, { cause });
    this.kind = kind;
  }
}
