import { execFileSync } from "node:child_process"
import { randomInt } from "node:crypto"
import { runsLongTests } from "./wide-tests.js"

/**
 * A number that the commit chooses: each change is tested with other histories, and a test does the same each time that a commit is tested. Long
 * tests take a new one each time.
 */
export function seedOfCommit(): number {
  if (runsLongTests) return randomInt(2 ** 31)
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" })
  return Number.parseInt(commit.slice(0, 7), 16)
}
