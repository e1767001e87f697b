/** What changed between the code of two revisions, file by file. Pure. */

/** Why a file that changed has no diff: it is named only. */
export const omissions = ["binary", "too_large", "secret", "link", "limit"] as const
export type Omission = (typeof omissions)[number]

export interface ChangedFile {
  readonly path: string
  readonly change: "added" | "removed" | "changed"
  /** In bytes; null on the side where it does not exist. */
  readonly sizeBefore: number | null
  readonly sizeAfter: number | null
  /** Null: it has a diff. */
  readonly omitted: Omission | null
  /** Hunks of a unified diff; empty when only its mode changed. */
  readonly diff: string | null
}

export interface CodeChanges {
  /** In the order of their paths; at most `codeChangeLimits.files`. */
  readonly files: readonly ChangedFile[]
  /** How many files changed. */
  readonly total: number
}

export const codeChangeLimits = {
  /** Named files. */
  files: 500,
  /** Files with a diff. */
  diffs: 100,
  /** Of a file with a diff, on each side. A person reads no longer one here. */
  fileBytes: 100_000,
  /** Of all files with a diff, on both sides together: so long may the reply be, and so much is in memory. */
  diffedBytes: 2_000_000,
}

const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/

/** A path as people see it: what is not UTF-8 has its other bytes as `\xe9`, so that two files never look like one. */
export function shownPath(path: Buffer): string {
  const text = path.toString("utf8")
  if (!text.includes("\ufffd")) return text
  return path.toString("latin1").replace(/[^ -~]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`)
}

/** @returns  why the content is not to be shown; undefined for text */
export function unshowable(content: Buffer): Omission | undefined {
  if (content.includes(0)) return "binary"
  const text = content.toString("utf8")
  if (text.includes("\ufffd")) return "binary"
  return privateKey.test(text) ? "secret" : undefined
}

/**
 * The hunks of each file in the output of `git diff` over files whose names are numbers. Lines end at `\n` alone, as git's do: a regular
 * expression with `m` also ends them at `\r` and U+2028, which the code of strangers may contain.
 * @returns       by number
 * @throws Error  a header names no number, or one that another header has
 */
export function hunksOf(output: string): ReadonlyMap<number, string> {
  const hunks = new Map<number, string>()
  // A line of a file begins with a space, a plus or a minus, so only a header can begin like this.
  for (const section of `\n${output}`.split("\ndiff --git ").slice(1)) {
    const name = /^\S*\/(\d+) /.exec(section)?.[1]
    if (name === undefined || hunks.has(Number(name))) throw new Error("git has printed another header than expected")
    const at = section.indexOf("\n@@")
    // The end of the last line went with the next header.
    hunks.set(Number(name), at < 0 ? "" : `${section.slice(at + 1).replace(/\n$/, "")}\n`)
  }
  return hunks
}
