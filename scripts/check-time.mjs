/**
 * Folders whose timers and times run in simulations ask their clock (toolkit/src/time) and `superstep_now()`, and nothing else
 * (docs/decisions/0074-planner-runs-in-simulated-time.md). The list grows.
 */
const timed =
  /^(control\/src\/(?:planner|routing)\/|control\/src\/workspaces\/queries\.ts|control\/src\/pipeline\/(pipeline|reconciler|deploy-stage|switch-stage|verify-stage|queries)\.ts|control\/src\/revisions\/(claims|queries|sleep-queries)\.ts|control\/src\/deployments\/carried-queries\.ts|machines\/src\/unit-client\/unit-\w+\.ts|toolkit\/src\/exec\/repeated\.ts)/
const notChecked = /\.test\.ts$|\/testing\//

// What asks for it, and what to ask instead.
const realTime =
  /\bset(?:Timeout|Interval)\b|\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bAbortSignal\.timeout\b|\btimers\/promises\b/
const databaseTime = /(?<![\w.])now\(\)|\bclock_timestamp\(\)/

/** @param files  `{ path, text }` @returns problems as `{ path, line, message }` */
export function checkTime(files) {
  return files
    .filter(({ path }) => timed.test(path) && !notChecked.test(path))
    .flatMap(({ path, text }) => text.split("\n").flatMap((line, index) => problemsOf(line, { path, line: index + 1 })))
}

function problemsOf(text, place) {
  const [computer] = realTime.exec(text) ?? []
  const [database] = databaseTime.exec(text) ?? []
  return [
    computer && `${computer} is the time of this computer: use the clock of the context (toolkit/src/time/clock.ts)`,
    database && `${database} is the time of the database server: use superstep_now()`,
  ].flatMap((message) => (message ? [{ ...place, message }] : []))
}
