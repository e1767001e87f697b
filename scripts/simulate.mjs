/** `npm run simulate -- [planner|queue] [options]`: histories in simulated time, of the planner if none is named. */
import { runCompiled } from "./run-compiled.mjs"
import { explain, SetupFailed } from "./setup.mjs"

const programs = {
  planner: "control/dist/testing/simulation/main.js",
  queue: "server/dist/runs/testing/simulation/main.js",
}

async function main(args) {
  const [name, options] =
    args[0] === undefined || args[0].startsWith("-") ? ["planner", args] : [args[0], args.slice(1)]
  if (!Object.hasOwn(programs, name))
    throw new SetupFailed(`there is no simulation "${name}": choose one of ${Object.keys(programs).join(", ")}`)
  await runCompiled(programs[name], options)
}

await main(process.argv.slice(2)).catch(explain)
