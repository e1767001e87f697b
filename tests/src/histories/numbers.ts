/**
 * Numbers that clients send and read again, as texts (decision 57). A client that made doubles of them could not see that a server did. So they are
 * marked strings in the values of this program, and numbers only in the texts of requests and replies. Pure.
 */
import type { Random } from "@superstep/toolkit/testing/seeded-random"

/** Numbers under a name. Wherever a reply has them, they have this form. */
export interface Carried {
  readonly of: string
  readonly numbers: readonly string[]
}

/** What a client knows of numbers that it has read. */
export interface ReadNumbers extends Carried {
  readonly sent: readonly string[]
  /** They have been in a graph whose numbers are doubles. */
  readonly areDoubles: boolean
}

const mark = "exact:"

/** The JSON text of a value with marked numbers. */
export const withPlainNumbers = (json: string): string => json.replaceAll(/"exact:([^"]*)"/g, "$1")

/** The same text, with each number of a list `numbers` as a marked string. */
export const withMarkedNumbers = (json: string): string =>
  json.replaceAll(/("numbers":\s*\[)([^\][{}"]*)\]/g, (_, start: string, list: string) => {
    const texts = list.split(",").map((text) => text.trim())
    return `${start}${texts.map((text) => JSON.stringify(mark + text)).join(",")}]`
  })

/** @param holds  which numbers the graph can hold; those of JavaScript refuse integers that no double holds */
export function randomNumbers(of: string, random: Random, holds: "doubles" | "all"): Carried {
  const digits = (count: number) => Array.from({ length: count }, (_, n) => random.between(n === 0 ? 1 : 0, 9)).join("")
  const sign = () => random.pick(["", "-"])
  const kinds = [
    () => digits(random.between(1, 15)),
    () => `${digits(random.between(1, 25))}.0`,
    () => `${random.between(0, 9)}.${digits(random.between(1, 25))}`,
    () => `${random.between(1, 9)}.${digits(3)}e${random.between(-300, 300)}`,
    () => `${random.between(0, 9)}E${random.between(0, 30)}`,
    () => (holds === "all" ? digits(random.between(16, 30)) : `${digits(1)}${"0".repeat(random.between(16, 20))}`),
    () => random.pick(["0", "0.0"]),
  ]
  return { of, numbers: Array.from({ length: 3 }, () => `${mark}${sign()}${random.pick(kinds)()}`) }
}

/** All numbers with a name that are anywhere in a reply. */
export function carriedIn(value: unknown): Carried[] {
  if (typeof value !== "object" || value === null) return []
  const { of, numbers } = value as Partial<Carried>
  const own = typeof of === "string" && Array.isArray(numbers) ? [{ of, numbers }] : []
  return [...own, ...Object.values(value).flatMap(carriedIn)]
}

/** @returns  a sentence when numbers came back as others */
export function changedNumbers({ of, sent, numbers, areDoubles }: ReadNumbers): string | undefined {
  const form = areDoubles ? doubleOf : exactly
  if (numbers.length === sent.length && sent.every((text, n) => form(text) === form(numbers[n] ?? ""))) return undefined
  return `the numbers of ${of} came back as others: [${sent.map(textOf).join(", ")}], then [${numbers.map(textOf).join(", ")}]`
}

const textOf = (marked: string): string => marked.slice(mark.length)

/** Without the sign of a zero, which the JSON of JavaScript does not have. */
const doubleOf = (marked: string): string => String(Number(textOf(marked)))

/** Integers by their digits, floats by their double, and never the one as the other. */
function exactly(marked: string): string {
  const text = textOf(marked)
  if (!/[.eE]/.test(text)) return /^-?\d+$/.test(text) ? String(BigInt(text)) : text
  const double = Number(text)
  return `${Object.is(double, -0) ? "-0" : double} as a float`
}
