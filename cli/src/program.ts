/** Runs a program of commands: the only place where errors become messages and an exit code. */
import { existsSync } from "node:fs"
import type { ErrorCode } from "@superstep/toolkit/errors/codes"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { errorAddress } from "@superstep/toolkit/errors/explain"
import { type Command, CommanderError } from "commander"
import { outputTo } from "./output/output.js"

const sources = new URL("../../", import.meta.url)

/**
 * Where the reader of a printed error finds its entry: at the published site, in a clone the page, in an installed package the built page.
 * @param folder  the clone, or the package's folder with all programs
 */
export function entryOf(code: ErrorCode, folder = sources): string {
  const address = errorAddress(code)
  const built = new URL("docs/site/errors.html", folder)
  const isInstalled = !existsSync(new URL("docs/errors.md", folder)) && existsSync(built)
  return isInstalled && !address.startsWith("https://") ? `${built.href}#${code}` : address
}

function report(error: unknown): void {
  if (error instanceof CommanderError) {
    // Commander has printed what is wrong; help and version are no errors.
    process.exitCode = error.exitCode
    return
  }
  const err = outputTo(process.stderr)
  const words =
    error instanceof KnownError
      ? error.message
      : error instanceof Error
        ? (error.stack ?? error.message)
        : String(error)
  err.line(`${err.style("red", "✖")} ${words}`)
  if (error instanceof KnownError) err.line(err.style("dim", `  See ${entryOf(error.code)}`))
  process.exitCode ||= 1
}

// Node exits silently with this code when the program waits for something that can never happen.
const unsettled = 13

/** Runs the command that the arguments of this process name. */
export async function runProgram(program: () => Command | Promise<Command>): Promise<void> {
  // When the terminal or the reader of a pipe is closed, output is dropped and the command goes on: `up` gets SIGHUP to stop and
  // then stops its Postgres, which a failed write must not prevent.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined)
  process.once("exit", () => {
    // The argument of the event is still 0: Node sets the code in a handler of its own.
    if (process.exitCode === unsettled)
      process.stderr.write("✖ the command exited before it was done: please report this bug\n")
  })
  try {
    await (await program()).parseAsync()
  } catch (error) {
    report(error)
  }
}
