/**
 * What `superstep up` would refuse only after a clone was set up, which takes a minute the first time. It looks itself
 * again: here nothing is known of an installation that runs.
 */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { createServer } from "node:net"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"

// As in cli/src/processes/default-place.ts, which may not be compiled yet.
const usual = { host: "127.0.0.1", port: "8900", "agents-port": "8901" }

const options = {
  host: { type: "string" },
  port: { type: "string", short: "p" },
  "agents-port": { type: "string" },
  home: { type: "string" },
  "no-example": { type: "boolean" },
}

/**
 * @param args  of `superstep up`
 * @returns     a sentence that says what is in the way; undefined when nothing is
 */
export async function problemBefore(args, { env = process.env, cwd = process.cwd() } = {}) {
  // What is mistyped is for the command itself to tell.
  const { values } = parseArgs({ args, options, strict: false, allowPositionals: true })
  const home = resolve(cwd, values.home ?? env.SUPERSTEP_HOME ?? ".superstep")
  if (!values["no-example"] && !existsSync(join(home, "example.json")) && !hasGit(env)) {
    return "git is not installed: install it, or start without the example: npm start -- --no-example"
  }
  // Whoever runs on the folder has the ports, and the command knows what to do about that.
  if (existsSync(join(home, "running.json"))) return undefined
  const place = { ...usual, ...values }
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
      // No port at all: the command says so.
      done(false)
    }
  })
}
