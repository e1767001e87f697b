/** What the keys of the keyboard do on every page. Pure. */

export type Command =
  | { readonly kind: "palette" | "search" | "help" }
  /** To the page with this key. */
  | { readonly kind: "go"; readonly key: string }

export interface Press {
  readonly key: string
  readonly isModified: boolean
  /** The person types into a field, or the focus is in a menu, a list, a grid or a dialog, which have keys of their own. */
  readonly isTaken: boolean
  /** Since any time before, in milliseconds. */
  readonly atMs: number
}

export interface Reading {
  readonly command?: Command
  /** When `g` was pressed: the next key names a page. */
  readonly goingSinceMs?: number
}

// Who presses `g` and then thinks, or is called away, does not mean the page that a later letter names.
const goMs = 1500

/** @param goingSinceMs  of the reading before @param hasLetters  false when a person has turned the keys without Ctrl off */
export function readPress(press: Press, goingSinceMs: number | undefined, hasLetters: boolean): Reading {
  const { key, isModified, isTaken, atMs } = press
  const isGoing = goingSinceMs !== undefined && atMs - goingSinceMs <= goMs
  if (isModified && key.toLowerCase() === "k") return { command: { kind: "palette" } }
  if (isModified || isTaken || !hasLetters) return {}
  if (isGoing) return /^[a-z]$/.test(key) ? { command: { kind: "go", key } } : {}
  if (key === "g") return { goingSinceMs: atMs }
  if (key === "/") return { command: { kind: "search" } }
  if (key === "?") return { command: { kind: "help" } }
  return {}
}
