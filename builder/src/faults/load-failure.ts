/** Why modules of a project did not load, as an error code with its own advice. Their messages are of user code: any text may come. Pure. */
import type { BuildCode } from "./build-failed.js"

/**
 * @param messages  of the modules that did not load
 * @param words     the sentence about all of them
 * @param given     the names of the variables that the project had
 */
export function loadFailure(
  messages: readonly string[],
  words: string,
  given: readonly string[],
): { readonly code: BuildCode; readonly message: string } {
  const said = messages.join("\n")
  const missing = missingVariables(said, given)
  if (missing.length > 0)
    return { code: "secret_missing", message: `${words} (the deployment has no ${missing.join(", ")})` }
  return { code: codeOf(said), message: words }
}

// Python, Node for packages and files, and our worker for langgraph itself.
const saysModuleIsMissing =
  /No module named '|Cannot find (?:package|module) '|ERR_MODULE_NOT_FOUND| does not have langgraph: /

const codeOf = (said: string): BuildCode => (saysModuleIsMissing.test(said) ? "module_missing" : "graph_load_failed")

// `OPENAI_API_KEY`, not `ENOENT`: at least two words, unless the text says that it is a variable.
const variableName = /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|(?<=\benvironment variable ["'`])\w{1,200}(?=["'`])/g
const saysItIsMissing =
  /missing|not set|not found|not defined|undefined|unset|required|must be (?:set|provided)|provide|empty|environment variable/i

/** Most modules that fail to load lack a key. @returns  variables that the message names, and that were not given */
export function missingVariables(message: string, given: readonly string[]): string[] {
  if (!saysItIsMissing.test(message)) return []
  const named = message.match(variableName) ?? []
  return [...new Set(named)].filter((name) => !given.includes(name) && !/^(ERR|MODULE|UV)_/.test(name))
}
