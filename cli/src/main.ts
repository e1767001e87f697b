#!/usr/bin/env node
/** The command line: errors become words and an exit code here, and nowhere else. */
import { KnownError } from "@superstep/toolkit/errors/errors"
import { Command, CommanderError } from "commander"
import { addCommand, type CliCommand, type Context } from "./command.js"
import { commandsFor } from "./command-table.js"
import { readConfig } from "./config.js"
import { outputTo } from "./output/output.js"
import { release } from "./release.js"

const groups = {
  secrets: "environment of a deployment's graphs",
  workspaces: "who shares deployments",
  keys: "API keys of a workspace or the installation",
}

function createProgram(commands: readonly CliCommand[], context: Context): Command {
  const program = new Command("superstep")
    .description("Puts LangGraph agents on your own machines.")
    .version(release(), "-v, --version")
    // Else `deploy -v` would print the version, and end with code 0.
    .enablePositionalOptions()
    .showHelpAfterError("(superstep --help tells more)")
    .exitOverride()
  for (const command of commands) addCommand(program, command, { context, groups })
  return program
}

function report(error: unknown): void {
  if (error instanceof CommanderError) {
    // It has said what is wrong; help and version are no errors.
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
  process.exitCode = 1
}

// Whoever closes the terminal, or the reader of a pipe, has nobody left to tell it to. The command goes on: `up` is told
// to stop by SIGHUP and then ends its Postgres, which a write that fails must not keep it from.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined)

// Node ends a program that waits for what can never come, without a word and with this code.
const unsettled = 13
process.once("exit", (code) => {
  if (code === unsettled) process.stderr.write("✖ the command ended before it was done: please report this\n")
})

try {
  const context = { config: readConfig(process.env), out: outputTo(process.stdout), err: outputTo(process.stderr) }
  await createProgram(await commandsFor(process.argv[2]), context).parseAsync()
} catch (error) {
  report(error)
}
