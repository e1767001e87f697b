/** What the keys of the keyboard do on every page. Pure. */

export type Command =
  | { readonly kind: "palette" | "search" | "help" }
  /** To the page with this key. */
  | { readonly kind: "go"; readonly key: string }

export interface Press {
  readonly key: string
  readonly isModified: boolean
  /** The person types into a field, or the focus is in a menu or a dialog, which have keys of their own. */
  readonly isTaken: boolean
}

export interface Reading {
  readonly command?: Command
  /** The next key names a page. */
  readonly isGoing: boolean
}

/** @param isGoing  whether the key before was `g` @param hasLetters  false when a person has turned the keys without Ctrl off */
export function readPress(press: Press, isGoing: boolean, hasLetters: boolean): Reading {
  const { key, isModified, isTaken } = press
  if (isModified && key.toLowerCase() === "k") return { command: { kind: "palette" }, isGoing: false }
  if (isModified || isTaken || !hasLetters) return { isGoing: false }
  if (isGoing) return { isGoing: false, ...(/^[a-z]$/.test(key) && { command: { kind: "go", key } }) }
  if (key === "g") return { isGoing: true }
  if (key === "/") return { command: { kind: "search" }, isGoing: false }
  if (key === "?") return { command: { kind: "help" }, isGoing: false }
  return { isGoing: false }
}
