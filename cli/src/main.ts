#!/usr/bin/env node
/** The command line: the only place where errors become messages and an exit code. */
import { KnownError } from "@superstep/toolkit/errors/errors"
import { ignoreInspectorSignal } from "@superstep/toolkit/exec/own-program"
import { Command, CommanderError } from "commander"
import { addCommand, type CliCommand, type Context } from "./command.js"
import { commandsFor, versionFlags } from "./command-table.js"
import { outputTo } from "./output/output.js"
import { release } from "./release.js"

// Beside agents of the same user, `up`, `dev` and `serve` run for long.
ignoreInspectorSignal()

const groups = {
  secrets: "manage the environment variables of a deployment's graphs",
  hosts: "manage the host names of a deployment",
  workspaces: "manage workspaces",
  keys: "manage API keys of a workspace or the installation",
  quotas: "show or set the limits of a workspace",
}

// Loaded when a command runs: the settings import much that the version does not need.
async function context(): Promise<Context> {
  const { readConfig } = await import("./config.js")
  return { config: readConfig(process.env), out: outputTo(process.stdout), err: outputTo(process.stderr) }
}

function createProgram(commands: readonly CliCommand[]): Command {
  const program = new Command("superstep")
    .description("Runs LangGraph agents on your own machines.")
    .version(release(), versionFlags)
    // Otherwise `deploy -v` would print the version, and exit with code 0.
    .enablePositionalOptions()
    .showHelpAfterError("(see superstep --help)")
    .exitOverride()
  for (const command of commands) addCommand(program, command, { context, groups })
  return program
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
  process.exitCode = 1
}

// When the terminal or the reader of a pipe is closed, output is dropped and the command goes on: `up` gets SIGHUP to stop and
// then stops its Postgres, which a failed write must not prevent.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined)

// Node exits silently with this code when the program waits for something that can never happen.
const unsettled = 13
process.once("exit", (code) => {
  if (code === unsettled) process.stderr.write("✖ the command exited before it was done: please report this bug\n")
})

try {
  await createProgram(await commandsFor(process.argv[2])).parseAsync()
} catch (error) {
  report(error)
}
