/** Which numbers a graph's language can hold (decision 0057). Pure. */
import { InvalidInput, type Problem } from "@superstep/toolkit/errors/errors"
import { type FoundNumber, findExactNumbers } from "@superstep/toolkit/http/exact-number"
import type { Language } from "./languages.js"

type Path = readonly (string | number)[]

/** What a graph gets, by the path that the client knows. */
export interface GivenValue {
  readonly path: Path
  readonly value: unknown
  /** Turns the path of a number in it into the one that the client knows, where both differ. */
  readonly shownPath?: (path: Path) => Path
}

// A body may have millions of them.
const mostReported = 20

/**
 * JavaScript has only doubles: a larger integer would reach the graph as another one. Python holds every number that a body may have.
 * @param language  undefined when the graph is not loaded: then nothing runs
 * @throws InvalidInput  naming each number that the graph cannot hold
 */
export function requireHeld(language: Language | undefined, given: readonly GivenValue[]): void {
  if (language !== "javascript") return
  const problems: Problem[] = []
  for (const { path, value, shownPath = asGiven } of given) {
    const most = mostReported - problems.length
    const found = findExactNumbers(value, path, { isWanted: isLostInDouble, most })
    problems.push(...found.map((number) => problemAt({ ...number, path: shownPath(number.path) })))
  }
  if (problems.length > 0) throw new InvalidInput(problems)
}

/** An exact number is an integer only where `JSON.stringify` would print other digits; `-0` is 0 there. */
const isLostInDouble = (number: string): boolean => /^-?\d+$/.test(number) && number !== "-0"

const asGiven = (path: Path): Path => path

const problemAt = ({ path, text }: FoundNumber): Problem => ({
  path,
  message: `a JavaScript graph cannot hold the integer ${text.length > 40 ? `${text.slice(0, 40)}…` : text}: send it as text`,
  type: "value_error",
})
