/** Broken rules in the log of a process. */
import { onBrokenRule } from "../errors/must.js"
import type { Log } from "./log.js"

/** Call it once, when a process starts: from then on each broken rule is a line of its log, whatever becomes of the error. */
export function logBrokenRules(log: Log): void {
  onBrokenRule((broken) => {
    log.error(
      { ...broken.facts, rule: broken.rule, err: broken },
      "a rule is broken: this is a bug of Superstep, please report it",
    )
  })
}
