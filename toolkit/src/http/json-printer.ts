/** `JSON.stringify` that can print texts as they are. The only place that prints exact numbers and RawJson. */
import { randomUUID } from "node:crypto"

// Stands for a text while JSON is printed. It never leaves this process, so no client can send it.
const mark = randomUUID()
const markInJson = `"${mark}"`

interface Printing {
  /** What the marks stand for, in order. */
  readonly texts: string[]
  hasExactNumbers: boolean
}

let printing: Printing | undefined

/** For `toJSON` of a value that is printed as it is. @throws Error  outside of `printJson`, where it would be printed as something else */
export function printAsIs(text: string, kind: "exact" | "raw"): string {
  if (printing === undefined) throw new Error("this value keeps its JSON text: print it with toJsonText")
  printing.texts.push(text)
  printing.hasExactNumbers ||= kind === "exact"
  return mark
}

export interface Printed {
  readonly text: string
  readonly hasExactNumbers: boolean
}

/** Prints a value. Undefined fields are left out, and undefined alone is null. */
export function printJson(value: unknown): Printed {
  const outer = printing
  const own: Printing = { texts: [], hasExactNumbers: false }
  printing = own
  try {
    const json = JSON.stringify(value) ?? "null"
    const { texts, hasExactNumbers } = own
    if (texts.length === 0) return { text: json, hasExactNumbers }
    const parts = json.split(markInJson)
    if (parts.length !== texts.length + 1) throw new Error("a printed JSON text has an unexpected mark")
    return { text: parts.map((part, n) => part + (texts[n] ?? "")).join(""), hasExactNumbers }
  } finally {
    printing = outer
  }
}
