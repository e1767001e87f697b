/**
 * Feeds what strangers may send to the code that reads it first: changed examples, and texts that grow. Reading must give a value or the
 * error that the code documents, and its time must not grow faster than the text.
 */
import { type Random, seededRandom } from "./seeded-random.js"

/** A place where strangers' bytes enter. */
export interface Entrance {
  /** What is read, for the failure. */
  readonly name: string
  /** Texts that are read well, or nearly; they are changed and grown. */
  readonly examples: readonly string[]
  readonly read: (text: string) => unknown
  /** Whether the code documents this error. Without it no text may be refused by an error. */
  readonly refuses?: (error: unknown) => boolean
  /** Throws when the value is not fit for what comes after, such as storing it. */
  readonly check?: (value: unknown, text: string) => void
}

export interface Finding {
  readonly entrance: string
  readonly what: string
  /** As JSON, cut. */
  readonly text: string
}

// Characters and words that parsers, stores and terminals treat in their own way.
const tokens = [
  "\0", "\ud800", "\u2028", "\ufeff", "\x1b[31m", "\r\n", "\n", "\t", " ", '"', "'", "\\", "{", "}", "[", "]", ",", ":", ";", "=", "/", "//", "../",
  "%", "%00", "%2e", "@", "#", "?", "&", "-", "+", ".", "0", "-1", "1e999", "9".repeat(400), "null", "true", "{}", "[]", '{"__proto__":{}}', "__proto__",
  "constructor", "toString", "é", "😀", "\u202e", "[".repeat(3000), '{"a":'.repeat(3000), "x".repeat(5000), " ".repeat(5000),
] // biome-ignore format: a list of words

/** @param inputs  how many changed texts */
export async function fuzz(entrance: Entrance, { seed, inputs }: { seed: number; inputs: number }): Promise<Finding[]> {
  const random = seededRandom(seed)
  const findings = new Map<string, Finding>()
  const found = (what: string, text: string) => {
    const shown = JSON.stringify(text.length > 400 ? `${text.slice(0, 200)} … ${text.slice(-200)}` : text)
    if (!findings.has(what)) findings.set(what, { entrance: entrance.name, what, text: shown })
  }
  for (const text of [...entrance.examples, ...tokens, ""]) await tryText(entrance, text, found)
  for (let n = 0; n < inputs; n++) await tryText(entrance, changed(entrance.examples, random), found)
  for (const text of entrance.examples) for (const part of partsOf(text)) await tryGrowing(entrance, text, part, found)
  return [...findings.values()]
}

type Found = (what: string, text: string) => void

async function tryText({ read, refuses, check }: Entrance, text: string, found: Found): Promise<void> {
  let value: unknown
  try {
    value = await read(text)
  } catch (error) {
    if (!refuses?.(error)) found(`it throws ${nameOf(error)}`, text)
    return
  }
  try {
    check?.(value, text)
  } catch (error) {
    found(`what it gives is not fit: ${nameOf(error)}`, text)
  }
}

const nameOf = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message.slice(0, 200)}` : String(error)

function changed(examples: readonly string[], random: Random): string {
  let text = random.pick(examples)
  for (let changes = random.between(1, 4); changes > 0; changes--) text = changedOnce(text, examples, random)
  return text
}

function changedOnce(text: string, examples: readonly string[], random: Random): string {
  const [one, other] = [random.between(0, text.length), random.between(0, text.length)]
  const [begin, end] = [Math.min(one, other), Math.max(one, other)]
  const [before, within, after] = [text.slice(0, begin), text.slice(begin, end), text.slice(end)]
  switch (random.between(0, 6)) {
    case 0:
      return before
    case 1:
      return before + after
    case 2:
      return before + within.repeat(random.between(2, 20)).slice(0, 50_000) + after
    case 3:
      return before + random.pick(tokens) + within + after
    case 4:
      return before + random.pick(tokens) + after
    case 5:
      return before + random.pick(examples).slice(random.between(0, 20))
    default:
      return text.slice(0, begin) + String.fromCharCode(random.between(0, 0xffff)) + text.slice(begin + 1)
  }
}

/** What a text may be grown by: its own characters and words, where they are. */
const partsOf = (text: string): string[] => [
  ...new Set(
    [...new Set(text)].slice(0, 30).concat(text.match(/[^\s"]{2,20}/g)?.slice(0, 8) ?? [], text.slice(0, 200)),
  ),
]

// The shorter one is long enough to be measured, the longer one to show a square.
const [shortLength, factor] = [16_000, 8]
// Times above that of a linear one, for what else a process does. A square takes eight times as long as that.
const mostTimes = 3
const leastMs = 60

async function tryGrowing(entrance: Entrance, text: string, part: string, found: Found): Promise<void> {
  const at = Math.max(0, text.indexOf(part))
  const grown = (length: number) => text.slice(0, at) + part.repeat(Math.ceil(length / part.length)) + text.slice(at)
  const timeOf = async (length: number) => {
    const longer = grown(length)
    const begin = process.cpuUsage()
    await tryText({ ...entrance, check: () => undefined }, longer, (what) =>
      found(`${what} (grown by ${JSON.stringify(part)})`, longer),
    )
    const { user, system } = process.cpuUsage(begin)
    return (user + system) / 1000
  }
  const isSlow = async (tries: number) => {
    let long = Number.POSITIVE_INFINITY
    for (let n = 0; n < tries; n++) long = Math.min(long, await timeOf(shortLength * factor))
    return long > leastMs && long > mostTimes * factor * Math.max(1, await timeOf(shortLength))
  }
  // The first time may have compiled it, and a busy machine costs processor time, too.
  if ((await isSlow(1)) && (await isSlow(3)) && (await isSlow(10)))
    found(`its time grows faster than the text, grown by ${JSON.stringify(part)}`, text)
}
