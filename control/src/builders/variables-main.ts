/**
 * Starts a program with the variables of a settings file, which is gone then: `node variables-main.js PROGRAM ARGUMENT…`.
 * A step of a build is begun by programs that run as root until they have changed the user. They must never see variables
 * that a deployment sets, for the system loads what some of them name (LD_PRELOAD). This runs as the step's user.
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
// As a shell reports a signal, which `run-step.ts` expects.
child.once("exit", (code, signal) => {
  process.exitCode = signal ? 128 + constants.signals[signal] : (code ?? 1)
})
