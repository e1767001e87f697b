/** Distinguishes a wrong address, a missing permission, a missing branch and a network fault. Pure. */
import type { CommandFailed } from "@superstep/toolkit/exec/run-command"
import { diskIsFull } from "../files/disk-room.js"
import { SourceFailed } from "./port.js"

/** git's output and exit. */
export type GitFailure = Pick<CommandFailed, "exitCode" | "killedBy" | "lastLines">

// `git ls-remote --exit-code` documents 2 as "no matching refs"; every other failure is 128 with a message.
const noMatchingRef = 2

const facts: readonly (readonly [RegExp, "auth" | "disk" | "missing" | "ref" | "forbidden" | "network"])[] = [
  [/no space left on device|disk quota exceeded/i, "disk"],
  [/transport '[^']*' not allowed|unable to find remote helper/i, "forbidden"],
  [/couldn't find remote ref|not our ref|unadvertised object|no such remote ref|bad object/i, "ref"],
  [
    /authentication failed|could not read (username|password)|terminal prompts disabled|error: 40[13]\b|permission denied|dubious ownership|host key verification failed/i,
    "auth",
  ],
  [
    /could not resolve host|connection (refused|timed out|reset)|network is unreachable|failed to connect|operation timed out|error: 5\d\d\b|early eof|remote stop hung up|couldn't connect/i,
    "network",
  ],
  [
    /not found|does not exist|does not appear to be a git repository|error: 404\b|no such file|not a git repository/i,
    "missing",
  ],
]

/**
 * @param repoUrl  for the message; it never contains credentials
 * @returns        an error that says what to check next
 */
export function classifyGitFailure(failure: GitFailure, repoUrl: string, ref: string): SourceFailed {
  const said = lastLine(failure.lastLines)
  if (failure.exitCode === noMatchingRef) return refNotFound(repoUrl, ref)
  if (failure.killedBy === "timeout") {
    return new SourceFailed("source_timeout", `the host of ${repoUrl} did not answer in time`, { isTransient: true })
  }
  const kind = facts.find(([pattern]) => pattern.test(failure.lastLines))?.[1]
  switch (kind) {
    case "disk":
      return new SourceFailed("disk_full", `${diskIsFull}: ${said}`, { isTransient: true })
    case "forbidden":
      return new SourceFailed(
        "source_unsupported",
        `the protocol of ${repoUrl} is not allowed here: see SUPERSTEP_GIT_PROTOCOLS`,
      )
    case "ref":
      return refNotFound(repoUrl, ref)
    case "auth":
      return new SourceFailed("source_auth", `access to ${repoUrl} was refused: ${said}`)
    case "network":
      return new SourceFailed("source_not_found", `${repoUrl} cannot be reached: ${said}`, { isTransient: true })
    default:
      return new SourceFailed("source_not_found", `there is no repository at ${repoUrl}: ${said}`)
  }
}

export const refNotFound = (repoUrl: string, ref: string): SourceFailed =>
  new SourceFailed("ref_not_found", `${repoUrl} has no branch, tag or commit "${ref}"`)

const lastLine = (text: string): string =>
  text
    .split("\n")
    .map((line) => line.replace(/^(fatal|error|remote): ?/i, "").trim())
    .filter((line) => line !== "" && !/make sure you have the correct access|and the repository exists/i.test(line))
    .at(-1)
    ?.slice(0, 300) ?? "git gave no reason"
