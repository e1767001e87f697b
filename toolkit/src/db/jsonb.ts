/** Converts JSON that a `jsonb` column would refuse or change (architecture D9b). */
import { scanJson } from "../text/scan-json.js"

// One escape at a time, so that `u0000` after an escaped backslash is not treated as one.
const escapes = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u0000|\\u[dD][89a-fA-F][\da-fA-F]{2}|\\./g

/**
 * Makes a JSON text acceptable to `jsonb`, which refuses U+0000 and unpaired surrogates: both become U+FFFD. A float such as `1e+20` gets
 * a form that `jsonb` does not print as an integer. A text without them comes back as it is. Keep the original beside it where its
 * bytes matter: `jsonb` has no negative zero, and sorts keys.
 */
export function toJsonbText(json: string): string {
  const numbers = /\d[eE]/.test(json) ? withPlainFloats(json) : json
  if (!numbers.includes("\\u")) return numbers
  return numbers.replace(escapes, (found) =>
    found === "\\u0000" || (found.length === 6 && /^\\u[dD][89a-fA-F]/.test(found)) ? "\\ufffd" : found,
  )
}

/** `jsonb` writes the exponent out: `1e+20` would come back as an integer, which is another value for Python. */
function withPlainFloats(json: string): string {
  const { found } = scanJson(json, (number) => wholeFloat.test(number))
  const parts: string[] = []
  let last = 0
  for (const { start, end } of found) {
    parts.push(json.slice(last, start), writtenOut(json.slice(start, end)))
    last = end
  }
  return parts.length === 0 ? json : parts.join("") + json.slice(last)
}

const wholeFloat = /^(-?)(\d+)(?:\.(\d+))?[eE]\+?(\d{1,3})$/

function writtenOut(number: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = ""] = wholeFloat.exec(number) ?? []
  const places = Number(exponent)
  // Digits are left after the point: it is a float in any form.
  if (fraction.length > places) return number
  return `${sign}${whole}${fraction.padEnd(places, "0")}.0`.replace(/^(-?)0+(?=\d)/, "$1")
}
