/** Version ranges, as in `engines` of package.json. Pure. Text that cannot be parsed is no range. */

type Version = readonly [number, number, number]
/** From, inclusive, and up to, exclusive. */
type Span = readonly [Version, Version]

const endless: Version = [Number.POSITIVE_INFINITY, 0, 0]

export interface NodeRange {
  includes(version: string): boolean
  /** The lowest major version in the range. */
  readonly lowestMajor: number
}

/** @returns  undefined for `lts/*`, `latest` and anything else that is no range of numbers */
export function parseRange(text: string): NodeRange | undefined {
  const spans = text.split("||").map(spanOf)
  if (spans.some((span) => span === undefined)) return undefined
  const known = spans as Span[]
  return {
    includes: (version) => {
      const it = versionOf(version)
      return it !== undefined && known.some(([from, to]) => compare(it, from) >= 0 && compare(it, to) < 0)
    },
    lowestMajor: Math.min(...known.map(([from]) => from[0])),
  }
}

/** `v20.19.1` gives `[20, 19, 1]`. */
export function versionOf(text: string): Version | undefined {
  const [, major, minor, patch] = text.trim().match(/^v?(\d+)\.(\d+)\.(\d+)/) ?? []
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)]
}

export function compare(a: Version, b: Version): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2]
}

/** All parts of one alternative must hold: `>=20.19 <23`, `18 - 22`. */
function spanOf(text: string): Span | undefined {
  const [, low, high] = text.match(/^\s*(\S+)\s+-\s+(\S+)\s*$/) ?? []
  const parts = low && high ? [`>=${low}`, `<=${high}`] : comparators(text)
  let span: Span = [[0, 0, 0], endless]
  for (const part of parts) {
    const next = partOf(part)
    if (!next) return undefined
    span = [compare(next[0], span[0]) > 0 ? next[0] : span[0], compare(next[1], span[1]) < 0 ? next[1] : span[1]]
  }
  return span
}

const comparators = (text: string): string[] =>
  text
    .replace(/(?<=[<>=^~])\s+/g, "")
    .split(/[\s,]+/)
    .filter((part) => part !== "")

function partOf(part: string): Span | undefined {
  if (/^[*xX]$/.test(part)) return [[0, 0, 0], endless]
  const match = part.match(/^(>=|<=|>|<|=|\^|~)?v?(\d+)(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?(?:[-+].*)?$/)
  if (!match) return undefined
  const [, operator = "", ...numbers] = match
  const given = numbers.filter((text) => text !== undefined && /^\d+$/.test(text)).map(Number)
  const from: Version = [given[0] ?? 0, given[1] ?? 0, given[2] ?? 0]
  return spanFor(operator, from, after(from, given.length))
}

function spanFor(operator: string, from: Version, next: Version): Span {
  const [major, minor] = from
  switch (operator) {
    case ">=":
      return [from, endless]
    case ">":
      return [next, endless]
    case "<":
      return [[0, 0, 0], from]
    case "<=":
      return [[0, 0, 0], next]
    case "^":
      return [from, major > 0 ? [major + 1, 0, 0] : [0, minor + 1, 0]]
    case "~":
      return [from, compare(next, [major, minor + 1, 0]) > 0 ? next : [major, minor + 1, 0]]
    default:
      return [from, next]
  }
}

/** The first version after all of `20`, `20.19` or `20.19.1`. */
function after([major, minor, patch]: Version, given: number): Version {
  if (given <= 1) return [major + 1, 0, 0]
  return given === 2 ? [major, minor + 1, 0] : [major, minor, patch + 1]
}
