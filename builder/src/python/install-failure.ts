/**
 * Why pip or uv did not install the packages, in a sentence, from what they printed: the last lines of a log often show only that they
 * failed. Pure.
 */

interface Reason {
  /** What shows it; the first group that is found goes into the sentence. */
  readonly pattern: RegExp
  readonly sentence: (found: string | undefined) => string
}

// In this order: a refused index also leads to a package that is not found, and that to requirements that cannot be met.
const reasons: readonly Reason[] = [
  {
    pattern:
      /lack of valid authentication credentials \((401|403)|client error \((401|403)|\b(401|403) (?:Client )?Error/i,
    sentence: (status) =>
      `the package index refused the access (${status}): give its credentials with UV_INDEX or PIP_INDEX_URL of the platform`,
  },
  {
    pattern: /does not satisfy Python ?[<>=!~]|requires a different Python|Requires-Python [<>=!~]/i,
    sentence: () => "a package needs another version of Python: see python_version of langgraph.json",
  },
  {
    pattern: /Failed to build `([^`]+)`|Failed building wheel for (\S+)|metadata-generation-failed/i,
    sentence: (name) =>
      `${name ?? "a package"} has no wheel for this machine, and building one failed: install what its build needs, or choose another version`,
  },
  {
    pattern: /No matching distribution found for (\S+)|Because (\S+) was not found in|there is no version of (\S+)/i,
    sentence: (name) => `the package index has no ${name}, or shows it only with credentials`,
  },
  {
    pattern: /ResolutionImpossible|conflicting dependencies|requirements are unsatisfiable/i,
    sentence: () => "the requirements exclude each other",
  },
]

/**
 * @param lines  the end of what the installer printed
 * @returns      undefined for any other reason
 */
export function installFailure(lines: readonly string[]): string | undefined {
  // uv breaks its sentences into lines of a drawn tree.
  const text = lines.map((line) => line.replace(/^[\s│├╰─▶×]+/, "")).join(" ")
  for (const { pattern, sentence } of reasons) {
    const found = pattern.exec(text)
    if (found) return sentence(found.slice(1).find((group) => group !== undefined))
  }
  return undefined
}
