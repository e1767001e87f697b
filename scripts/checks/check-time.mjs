/**
 * Where times come from, and how they are shown. Folders whose timers and times run in simulations ask their clock (toolkit/src/time) and `superstep_now()`, and nothing else
 * (docs/decisions/0074-planner-runs-in-simulated-time.md). The list grows.
 */
const timed =
  /^(control\/src\/(?:planner|routing)\/|control\/src\/workspaces\/queries\.ts|control\/src\/pipeline\/(pipeline|reconciler|deploy-stage|switch-stage|verify-stage|queries)\.ts|control\/src\/revisions\/(claims|queries|sleep-queries)\.ts|control\/src\/deployments\/carried-queries\.ts|machines\/src\/unit-client\/unit-\w+\.ts|server\/src\/crons\/(cron-loop|firing|queries)\.ts|server\/src\/runs\/(attempt|claim-loop|claims|executor|turns)\.ts|server\/src\/servers\/(contact|lease-times|peers|queries)\.ts|server\/src\/(checkpoints\/journal|events\/late-events)\.ts|server\/src\/migrations\/functions\/(creation|runs)\.sql|toolkit\/src\/exec\/repeated\.ts)/
// The console has one format for times.
const formatted = /^console\/src\/(?!frame\/time-text\.ts|crons\/firings\.ts)/
const ownFormat = /\.toLocale(?:Date|Time)?String\((?!"en"\))|\bIntl\.DateTimeFormat\((?!\)\.resolvedOptions)/
const notChecked = /\.test\.ts$|\/testing\//

// What asks for it, and what to ask instead.
const realTime =
  /\bset(?:Timeout|Interval)\b|\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bAbortSignal\.timeout\b|\btimers\/promises\b/
// When an attempt began is only shown.
const databaseTime = /(?<![\w.])now\(\)|(?<!claimed_at = )\bclock_timestamp\(\)/

/** @param files  `{ path, text }` @returns problems as `{ path, line, message }` */
export function checkTime(files) {
  const problemsIn = (folders, problems) =>
    files
      .filter(({ path }) => folders.test(path) && !notChecked.test(path))
      .flatMap(({ path, text }) => text.split("\n").flatMap((line, index) => problems(line, { path, line: index + 1 })))
  return [...problemsIn(timed, problemsOf), ...problemsIn(formatted, formatProblems)]
}

const formatProblems = (text, place) =>
  ownFormat.test(text)
    ? [{ ...place, message: "a time has one format on all pages: use console/src/frame/time-text.ts" }]
    : []

function problemsOf(text, place) {
  const [computer] = realTime.exec(text) ?? []
  const [database] = databaseTime.exec(text) ?? []
  return [
    computer && `${computer} is the time of this computer: use the clock of the context (toolkit/src/time/clock.ts)`,
    database && `${database} is the time of the database server: use superstep_now()`,
  ].flatMap((message) => (message ? [{ ...place, message }] : []))
}
