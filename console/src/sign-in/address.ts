/** What the address of the sign-in page says. */

/** @param hash  `#code=…`: it is behind a `#`, so no server and no proxy sees it */
export function codeIn(hash: string): string | undefined {
  return new URLSearchParams(hash.replace(/^#/, "")).get("code") ?? undefined
}

/** @param hash  `#invitation=…`, the link of an invitation */
export const invitationIn = (hash: string): string | undefined =>
  new URLSearchParams(hash.replace(/^#/, "")).get("invitation") ?? undefined

export interface SignInProblem {
  readonly what: string
  readonly next: string
}

/**
 * Why the provider's sign-in did not work, in words; undefined when the address says nothing of it.
 * @param hash  `#problem=<code>`: only codes that are known become words, since anybody can make a link to this page
 */
export function problemIn(hash: string): SignInProblem | undefined {
  const code = new URLSearchParams(hash.replace(/^#/, "")).get("problem")
  if (code === null) return undefined
  return (Object.hasOwn(problems, code) ? problems[code] : undefined) ?? signInFailed
}

const signInFailed: SignInProblem = {
  what: "The sign-in did not work, or took longer than ten minutes.",
  next: "Try again.",
}

const problems: Readonly<Record<string, SignInProblem>> = {
  not_a_member: {
    what: "Your account belongs to no workspace here.",
    next: "Ask an admin of the workspace for an invitation.",
  },
  invitation_invalid: {
    what: "This invitation is used, withdrawn or expired.",
    next: "Sign in if you have accepted it, or ask an admin for a new one.",
  },
  invitation_of_another: {
    what: "This invitation is for another e-mail address.",
    next: "Sign in with the account that was invited, or ask for an invitation of yours.",
  },
  email_unverified: {
    what: "Your login has not verified your e-mail address.",
    next: "Verify it there, then open the link again.",
  },
  too_many_requests: {
    what: "There were too many wrong attempts from your address.",
    next: "Wait a minute, then sign in again.",
  },
}

/** The page to show after signing in: only a path of the console itself, since anybody can make a link to this page. */
export function pathIn(next: unknown): string {
  const isOwn = typeof next === "string" && /^\/(?![/\\])/.test(next) && !next.startsWith("/sign-in")
  return isOwn ? next : "/"
}
