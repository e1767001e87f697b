/** A question to the person at the terminal. */
import { createInterface } from "node:readline/promises"
import { KnownError } from "@superstep/toolkit/errors/errors"

export class NotAnswered extends KnownError {
  readonly code = "not_answered"
}

/**
 * Asks on the terminal.
 * @param standard  the answer of an empty line
 * @throws NotAnswered  the input ended, or Ctrl-C was pressed
 */
export async function ask(question: string, standard: string): Promise<string> {
  // Standard output is for results.
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const closed = new AbortController()
  lines.once("close", () => closed.abort())
  try {
    return (await lines.question(`${question} (${standard}) `, { signal: closed.signal })).trim() || standard
  } catch (error) {
    if (closed.signal.aborted) throw new NotAnswered("\nnothing was done: the question was not answered")
    throw error
  } finally {
    lines.close()
  }
}
