/** Converts JSON that a `jsonb` column would refuse (architecture D9b). */

// One escape at a time, so that `u0000` after an escaped backslash is not treated as one.
const escapes = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u0000|\\u[dD][89a-fA-F][\da-fA-F]{2}|\\./g

/**
 * Makes a JSON text acceptable to `jsonb`, which refuses U+0000 and unpaired surrogates: both become U+FFFD.
 * A text without them comes back as it is. Keep the original beside it where its bytes matter.
 */
export function toJsonbText(json: string): string {
  if (!json.includes("\\u")) return json
  return json.replace(escapes, (found) =>
    found === "\\u0000" || (found.length === 6 && /^\\u[dD][89a-fA-F]/.test(found)) ? "\\ufffd" : found,
  )
}
