/** Finds, in one linear pass over a JSON text, what a plain `JSON.parse` does not say. Pure. */

/** From `start` to before `end`. */
export interface Span {
  readonly start: number
  readonly end: number
}

export interface ScannedJson {
  /** How deep lists and objects are nested. */
  readonly levels: number
  /** The wanted numbers, in order. */
  readonly found: readonly Span[]
}

const [quote, backslash, minus, zero, nine] = [0x22, 0x5c, 0x2d, 0x30, 0x39]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

// Each integer with this many digits is a double of its own.
const exactDigits = 15

/**
 * Whether `JSON.parse` and `JSON.stringify` would make another value of a number: an integer other digits, a float an integer. The
 * digits of a float need no keeping: its reader has doubles too.
 */
export function isChangedNumber(number: string): boolean {
  if (number.length <= exactDigits && digits.test(number)) return false
  const double = Number(number)
  if (/[.eE]/.test(number))
    return Number.isInteger(double) ? Math.abs(double) < firstWithExponent : !Number.isFinite(double)
  return String(double) !== number
}

const digits = /^\d+$/

// From here on JavaScript prints an exponent, and so a float.
const firstWithExponent = 1e21

/**
 * Scans a text, which need not be valid JSON.
 * @param isWanted  is not called for integers of at most 15 digits
 */
export function scanJson(text: string, isWanted: (number: string) => boolean = isChangedNumber): ScannedJson {
  const found: Span[] = []
  let depth = 0
  let levels = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === openList || code === openObject) levels = Math.max(levels, ++depth)
    else if (code === closeList || code === closeObject) depth--
    else if (code === minus || (code >= zero && code <= nine)) {
      const end = endOfNumber(text, at)
      if (!isShortInteger(text, at, end) && isWanted(text.slice(at, end))) found.push({ start: at, end })
      at = end - 1
    }
  }
  return { levels, found }
}

/** @returns the place of a string's last quote; long strings are searched natively. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text.charCodeAt(before - 1) === backslash) before--
    if ((end - before) % 2 === 0) return end
  }
  return text.length
}

/** Whatever is not a separator belongs to the number, so that `1.` or `2x` are left to the parser as they are. */
export function endOfNumber(text: string, start: number): number {
  let end = start + 1
  while (end < text.length && isPartOfNumber(text.charCodeAt(end))) end++
  return end
}

/** Digits, `.`, `+`, `-`, `e`, `E`. */
const isPartOfNumber = (code: number): boolean =>
  (code >= zero && code <= nine) || code === 0x2e || code === 0x2b || code === minus || code === 0x65 || code === 0x45

function isShortInteger(text: string, start: number, end: number): boolean {
  if (end - start > exactDigits) return false
  let at = start
  while (at < end && text.charCodeAt(at) >= zero && text.charCodeAt(at) <= nine) at++
  return at === end
}
