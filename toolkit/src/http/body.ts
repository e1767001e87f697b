/** Parses a request's body as JSON, and rejects what later code could not handle. Pure. */
import { InvalidInput, type Problem, UnsupportedBody } from "../errors/errors.js"
import { scanJson } from "../text/scan-json.js"
import { findExactNumbers } from "./exact-number.js"
import { parseExact } from "./parse-exact.js"

// Parsing survives any depth, but validating, writing and storing a value are recursive: at some thousands of levels the
// stack of this process or of Postgres (54001) overflows. No legitimate state is near this.
const mostLevels = 500

// Python reads no longer integer from a text (`sys.int_info.default_max_str_digits`).
const mostDigits = 4300

// Postgres' `jsonb` takes no number with more of them, whatever its value (NUMERIC_DSCALE_MAX).
const mostDecimals = 16_383

// Of a header's value in a message.
const longestShown = 40

// A body may have millions of them.
const mostReported = 20

const refuse = (type: string, message: string): InvalidInput => {
  const problem: Problem = { path: ["body"], message, type }
  return new InvalidInput([problem])
}

/**
 * The text of a body.
 * @param encoding  the request's `Content-Encoding`; nothing is decompressed, since a small body could become one of any size
 * @throws UnsupportedBody  when it has an encoding and is not UTF-8; a name that changes no byte, such as `utf-8`, is not refused
 * @throws InvalidInput  when it is not UTF-8: decoding it anyway would change its content
 */
export function decodeBody(bytes: ArrayBuffer, encoding: string | undefined): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    if (encoding === undefined || /^(?:identity)?$/i.test(encoding.trim()))
      throw refuse("json_invalid", "the body is not valid UTF-8")
    const shown = encoding.slice(0, longestShown)
    throw new UnsupportedBody(`the body has the encoding ${shown}: send it without Content-Encoding, uncompressed`)
  }
}

/**
 * The value of a body; an empty one is `{}`. Its numbers are as `parseJson` reads them.
 * @throws InvalidInput  when it is not JSON, nested deeper than 500 levels, or has a number that no language of a graph can hold
 */
export function parseJsonBody(text: string): unknown {
  if (text.trim() === "") return {}
  const { levels, found } = scanJson(text)
  if (levels > mostLevels) {
    throw refuse("value_error", `the body is nested deeper than ${mostLevels} levels: send flatter JSON`)
  }
  const value = parsed(text)
  if (found.length === 0) return value
  const exact = parseExact(text)
  if (found.some(({ start, end }) => isImpossible(text.slice(start, end)))) throw impossibleIn(exact)
  return exact
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refuse("json_invalid", `the body is not valid JSON: ${(error as SyntaxError).message}`)
  }
}

const isInteger = (number: string): boolean => /^-?\d+$/.test(number)

const isImpossible = (number: string): boolean =>
  isInteger(number)
    ? number.replace("-", "").length > mostDigits
    : !Number.isFinite(Number(number)) || isTooFine(number)

/** Whether a number has too many decimal places, or an exponent that not even a zero may have. */
function isTooFine(number: string): boolean {
  const [digits = "", exponent = "0"] = number.toLowerCase().split("e")
  const places = (digits.split(".")[1] ?? "").length - Number(exponent)
  return Math.abs(places) > mostDecimals
}

/** An integer of 309 to 4300 digits is infinite as a double, but not for Python. */
function impossibleIn(value: unknown): InvalidInput {
  const found = findExactNumbers(value, ["body"], { isWanted: isImpossible, most: mostReported })
  const problems = found.map(
    ({ path, text }): Problem => ({ path, message: `${whyImpossible(text)}: send it as text`, type: "value_error" }),
  )
  return new InvalidInput(problems)
}

function whyImpossible(number: string): string {
  if (isInteger(number))
    return `an integer of ${number.replace("-", "").length} digits cannot be read: the limit is ${mostDigits}`
  const shown = number.length > 40 ? `${number.slice(0, 40)}…` : number
  return Number.isFinite(Number(number))
    ? `${shown} cannot be stored: the limit is ${mostDecimals} decimal places`
    : `${shown} is too large for a floating-point number`
}
