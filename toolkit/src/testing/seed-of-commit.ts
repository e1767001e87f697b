import { execFileSync } from "node:child_process"

/** A number that the commit chooses: each change is tested with other histories, and each test can be repeated. */
export function seedOfCommit(): number {
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" })
  return Number.parseInt(commit.slice(0, 7), 16)
}
