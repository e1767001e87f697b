#!/usr/bin/env node
/** The command line. */
import { ignoreInspectorSignal } from "@superstep/toolkit/exec/own-program"
import { Command } from "commander"
import { addCommand, type CliCommand, type Context } from "./command-line/command.js"
import { commandsFor, versionFlags } from "./command-table.js"
import { outputTo } from "./output/output.js"
import { runProgram } from "./program.js"
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
  const { readConfig } = await import("./command-line/config.js")
  return {
    config: readConfig(process.env),
    out: outputTo(process.stdout),
    err: outputTo(process.stderr),
    release: release(),
  }
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

await runProgram(async () => createProgram(await commandsFor(process.argv[2])))
