/** Reads answers of a registry in bounded memory, whatever it sends. */
import { RegistryFailed } from "./failures.js"

// A manifest or a list of tags is some kilobytes, with very many entries a megabyte.
const mostBytes = 8 * 1024 * 1024

/** A whole answer. @throws RegistryFailed  it is larger than any document of an image */
export async function documentOf(response: Response): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.length
    if (bytes > mostBytes) throw new RegistryFailed(`${hostOf(response)} answers with more than ${mostBytes} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

// Enough for a sentence.
const shownBytes = 500

/** The start of an answer, for a message; the rest is not read. */
export async function startOf(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    parts.push(part)
    bytes += part.length
    if (bytes >= shownBytes) break
  }
  return Buffer.concat(parts).toString("utf8", 0, shownBytes)
}

const hostOf = ({ url }: Response): string => (URL.canParse(url) ? new URL(url).host : "the registry")
