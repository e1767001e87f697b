/**
 * Finds problems before the setup of a clone, which takes a minute the first time: `superstep up` would report them only after
 * it. `up` repeats the checks, since this script does not inspect a running installation.
 */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { createServer } from "node:net"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"

// As in cli/src/processes/default-place.ts, which may not be compiled yet.
const defaults = { host: "127.0.0.1", port: "8900", "agents-port": "8901" }

const options = {
  host: { type: "string" },
  port: { type: "string", short: "p" },
  "agents-port": { type: "string" },
  home: { type: "string" },
  "no-example": { type: "boolean" },
}

/**
 * @param args  of `superstep up`
 * @returns     a message about the problem; undefined when there is none
 */
export async function problemBefore(args, { env = process.env, cwd = process.cwd() } = {}) {
  // The command itself reports mistyped options.
  const { values } = parseArgs({ args, options, strict: false, allowPositionals: true })
  const home = resolve(cwd, values.home ?? env.SUPERSTEP_HOME ?? ".superstep")
  if (!values["no-example"] && !existsSync(join(home, "example.json")) && !hasGit(env)) {
    return "git is not installed: install it, or start without the example: npm start -- --no-example"
  }
  // The program that runs on the folder uses the ports, and the command handles that.
  if (existsSync(join(home, "running.json"))) return undefined
  const place = { ...defaults, ...values }
  for (const name of ["port", "agents-port"]) {
    if (await isTaken(place.host, Number(place[name]))) {
      return `port ${place[name]} is in use: choose another with npm start -- --${name} ${Number(place[name]) + 100}`
    }
  }
  return undefined
}

const hasGit = (env) => spawnSync("git", ["--version"], { env, stdio: "ignore" }).error?.code !== "ENOENT"

function isTaken(host, port) {
  const server = createServer()
  return new Promise((done) => {
    server.once("error", (error) => done(error.code === "EADDRINUSE"))
    try {
      server.listen({ host, port, exclusive: true }, () => server.close(() => done(false)))
    } catch {
      // Not a valid port: the command reports it.
      done(false)
    }
  })
}
