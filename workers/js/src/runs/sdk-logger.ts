/**
 * The logger that `getLogger()` of `@langchain/langgraph-sdk/logging` returns to graphs. Without a server's logger it throws, and a
 * graph that calls it would not load. Each call prints one JSON line to standard output, in the form of the server's own log.
 */

import { describeError, stackOf } from "../errors/describe-error.js"
import { serialise } from "../values/serialise.js"
import { currentRun } from "./run.js"

/** The SDK's levels, which are winston's, as levels of our log. */
const levels = {
  error: "error",
  warn: "warn",
  help: "info",
  data: "info",
  info: "info",
  debug: "debug",
  prompt: "debug",
  http: "debug",
  verbose: "debug",
  input: "debug",
  silly: "debug",
} as const

type Fields = Readonly<Record<string, unknown>>

/** Call it before user code is imported. */
export function offerSdkLogger(): void {
  const methods = Object.entries(levels).map(([name, level]) => {
    const log = (message: unknown, ...details: unknown[]) => {
      process.stdout.write(`${logLine(level, message, details)}\n`)
      return logger
    }
    return [name, log] as const
  })
  const logger = Object.fromEntries(methods)
  Object.assign(globalThis, { [Symbol.for("langgraph.api.sdk-logger")]: logger })
}

/** The caller's fields come first, so that they cannot replace the run's fields or the time. */
function logLine(level: string, message: unknown, details: readonly unknown[]): string {
  const isEntry = isFields(message) && "message" in message
  const { message: text, ...entry } = isEntry ? message : { message }
  const fields = details.filter(isFields)
  const others = details.filter((detail) => !isFields(detail) && !(detail instanceof Error) && detail !== undefined)
  const [error] = [message, ...details].filter((each) => each instanceof Error)
  return serialise({
    ...entry,
    ...Object.assign({}, ...fields),
    level,
    time: new Date().toISOString(),
    process: "worker",
    ...currentRun.getStore()?.logFields,
    ...(error === undefined ? {} : { err: logged(error) }),
    msg: [text, ...others].map(wordOf).join(" "),
  })
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Error)

function logged(error: unknown) {
  const { error: type, message } = describeError(error)
  return { type, message, stack: stackOf(error) }
}

function wordOf(value: unknown): string {
  if (value instanceof Error) return describeError(value).message
  return typeof value === "string" ? value : serialise(value)
}
