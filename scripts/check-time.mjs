/**
 * Folders whose timers and times run in simulations ask their clock (toolkit/src/time) and `superstep_now()`, and nothing else
 * (docs/decisions/0074-planner-runs-in-simulated-time.md). The list grows.
 */
const timed =
  /^(control\/src\/planner\/|control\/src\/pipeline\/(pipeline|reconciler|deploy-stage|switch-stage|verify-stage)\.ts|control\/src\/machines\/unit-\w+\.ts|toolkit\/src\/exec\/repeated\.ts)/
const notChecked = /\.test\.ts$|\/testing\//

const realTime =
  /\bset(?:Timeout|Interval)\b|\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bAbortSignal\.timeout\b|\btimers\/promises\b/

/** @param files  `{ path, text }` @returns problems as `{ path, line, message }` */
export function checkTime(files) {
  return files
    .filter(({ path }) => timed.test(path) && !notChecked.test(path))
    .flatMap(({ path, text }) =>
      text.split("\n").flatMap((line, index) => {
        const [found] = realTime.exec(line) ?? []
        const message = `${found} is the time of this computer: use the clock of the context (toolkit/src/time/clock.ts)`
        return found === undefined ? [] : [{ path, line: index + 1, message }]
      }),
    )
}
