/**
 * Starts a program with the variables of a settings file, and deletes the file: `node variables-main.js PROGRAM ARGUMENT…`.
 * The programs that start a build step run as root until they change the user. They must never get a deployment's
 * variables in their environment, since some make the system load code (LD_PRELOAD). This program runs as the step's user.
 */
import { spawn } from "node:child_process"
import { constants } from "node:os"
import { settingsFileVariable, takeSettingsFile } from "@superstep/toolkit/config/settings-file"

const [program = "", ...args] = process.argv.slice(2)
const env = takeSettingsFile(process.env)
delete env[settingsFileVariable]

const child = spawn(program, args, { env, stdio: "inherit" })
child.once("error", ({ message }) => {
  process.stderr.write(`${message}\n`)
  process.exitCode = 127
})
// Reports a signal as a shell does; `run-step.ts` expects that.
child.once("exit", (code, signal) => {
  process.exitCode = signal ? 128 + constants.signals[signal] : (code ?? 1)
})
