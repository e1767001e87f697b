#!/usr/bin/env node
/** The package `create-superstep`, which `npm create` runs: `superstep new` as a program of its own. */
import { Command } from "commander"
import { newProject } from "./commands/new.js"
import { outputTo } from "./output/output.js"
import { runProgram } from "./program.js"
import { release } from "./release.js"

await runProgram(() => {
  const program = new Command("create-superstep")
    .description(newProject.summary)
    .version(release())
    .arguments("[name]")
    .exitOverride()
  for (const option of newProject.options) program.addOption(option)
  return program.action(() =>
    newProject.run({ args: program.args, options: program.opts(), out: outputTo(process.stdout), release: release() }),
  )
})
