/** Parses a request's body as JSON, and rejects what later code could not handle. Pure. */
import { InvalidInput, type Problem } from "../errors/errors.js"

// Parsing survives any depth, but validating, writing and storing a value are recursive: at some thousands of levels the
// stack of this process or of Postgres (54001) overflows. No legitimate state is near this.
const mostLevels = 500

const refuse = (type: string, message: string): InvalidInput => {
  const problem: Problem = { path: ["body"], message, type }
  return new InvalidInput([problem])
}

/**
 * The text of a body.
 * @throws InvalidInput  when it is not UTF-8: decoding it anyway would change its content
 */
export function decodeBody(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    throw refuse("json_invalid", "the body is not valid UTF-8")
  }
}

/**
 * The value of a body; an empty one is `{}`.
 * @throws InvalidInput  when it is not JSON, or nested deeper than 500 levels
 */
export function parseJsonBody(text: string): unknown {
  if (text.trim() === "") return {}
  if (isDeeperThan(mostLevels, text)) {
    throw refuse("value_error", `the body is nested deeper than ${mostLevels} levels: send flatter JSON`)
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refuse("json_invalid", `the body is not valid JSON: ${(error as SyntaxError).message}`)
  }
}

const [quote, backslash] = [0x22, 0x5c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Counts brackets outside of strings, without recursion. */
function isDeeperThan(levels: number, text: string): boolean {
  if (text.length <= levels) return false
  let depth = 0
  let isInText = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isInText) {
      if (code === backslash) at++
      else if (code === quote) isInText = false
    } else if (code === quote) isInText = true
    else if (code === openList || code === openObject) {
      if (++depth > levels) return true
    } else if (code === closeList || code === closeObject) depth--
  }
  return false
}
