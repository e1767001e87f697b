import { after, afterEach } from "node:test"

/**
 * A test that fails leaves open what it would have closed, and a process with open sockets does not end. The process of this module ends
 * a while after its last test, which has been reported. If all passed, what they left open keeps it: a fault that must be seen.
 * @param graceMs  for the process to end by itself
 */
export function endAfterFailure(graceMs = 10_000) {
  let hasFailed = false
  afterEach(({ passed }) => {
    hasFailed ||= passed === false
  })
  after(() => {
    if (hasFailed) setTimeout(() => process.exit(1), graceMs).unref()
  })
}
