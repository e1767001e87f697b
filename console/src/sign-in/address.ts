/** What the address of the sign-in page says. */

/** @param hash  `#code=…`: it is behind a `#`, so no server and no proxy sees it */
export function codeIn(hash: string): string | undefined {
  return new URLSearchParams(hash.replace(/^#/, "")).get("code") ?? undefined
}

/** The page to show after signing in: only a path of the console itself, since anybody can make a link to this page. */
export function pathIn(next: unknown): string {
  const isOwn = typeof next === "string" && /^\/(?![/\\])/.test(next) && !next.startsWith("/sign-in")
  return isOwn ? next : "/"
}
