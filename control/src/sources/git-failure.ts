/**
 * Distinguishes a wrong address, a missing permission, a missing branch and a fault of the host. A host may answer anything, so what is
 * not known may pass: a repository is missing only when the host says so. Pure.
 */
import type { CommandFailed } from "@superstep/toolkit/exec/run-command"
import { diskIsFull } from "@superstep/toolkit/files/disk-room"
import { SourceFailed } from "./port.js"

/** git's output and exit. */
export interface GitFailure extends Pick<CommandFailed, "exitCode" | "killedBy" | "lastLines"> {
  /** For how long the host asks to be left alone, in milliseconds. */
  readonly askedMs?: number
}

// `git ls-remote --exit-code` documents 2 as "no matching refs"; every other failure is 128 with a message.
const noMatchingRef = 2

type Kind = "auth" | "busy" | "disk" | "memory" | "missing" | "ref" | "forbidden"

// In this order: a host that limits its callers may say so with a 403.
const facts: readonly (readonly [RegExp, Kind])[] = [
  [/no space left on device|disk quota exceeded/i, "disk"],
  [/out of memory|cannot allocate memory|mmap failed/i, "memory"],
  [/transport '[^']*' not allowed|unable to find remote helper/i, "forbidden"],
  [/couldn't find remote ref|not our ref|unadvertised object|no such remote ref|bad object|not a tree object/i, "ref"],
  [/error: 429\b|too many requests|rate limit/i, "busy"],
  [
    /authentication failed|could not read (username|password)|terminal prompts disabled|error: 40[13]\b|permission denied|dubious ownership|host key verification failed/i,
    "auth",
  ],
  [
    /error: 4(04|10)\b|repository '[^']*' not found|repository not found|could not be found|does not exist|does not appear to be a git repository|not a git repository/i,
    "missing",
  ],
]

// What git says of an answer by HTTP that is no success.
const answeredStatus = /returned error: (\d{3})\b/

/**
 * @param repoUrl  for the message; it never contains credentials
 * @param ref      for the message
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
    case "memory":
      return needsMemory(repoUrl)
    case "forbidden":
      return new SourceFailed(
        "source_unsupported",
        `the protocol of ${repoUrl} is not allowed here: see SUPERSTEP_GIT_PROTOCOLS`,
      )
    case "ref":
      return refNotFound(repoUrl, ref)
    case "auth":
      return new SourceFailed("source_auth", `access to ${repoUrl} was refused: ${said}`)
    case "missing":
      return new SourceFailed("source_not_found", `there is no repository at ${repoUrl}: ${said}`)
    default:
      return new SourceFailed("source_not_found", hostFault(repoUrl, failure, kind === "busy", said), {
        isTransient: true,
        askedMs: failure.askedMs,
      })
  }
}

export const refNotFound = (repoUrl: string, ref: string): SourceFailed =>
  new SourceFailed("ref_not_found", `${repoUrl} has no branch, tag or commit "${ref}"`)

/** A repository without any branch and tag, or a page that says something to people. */
export const nothingListed = (repoUrl: string): SourceFailed =>
  new SourceFailed(
    "source_not_found",
    `${repoUrl} lists no branch and no tag: the repository is empty, or its host answers with something else than a repository`,
    { isTransient: true },
  )

/** The host sends more than a repository that we can read. */
export const needsMemory = (repoUrl: string): SourceFailed =>
  new SourceFailed(
    "source_too_big",
    `${repoUrl} has too many or too large objects: git needs more memory than it may use`,
  )

function hostFault(
  repoUrl: string,
  { lastLines, exitCode, killedBy }: GitFailure,
  isBusy: boolean,
  said: string,
): string {
  const status = answeredStatus.exec(lastLines)?.[1]
  if (isBusy) return `${repoUrl} answered ${status ?? "429"}: too many requests`
  if (status !== undefined) return `${repoUrl} answered ${status}`
  if (lastLines.trim() !== "") return `${repoUrl} cannot be reached: ${said}`
  return `git ended without a reason (${killedBy ?? `exit code ${exitCode}`}) while it read ${repoUrl}`
}

// What git adds to every failure of ssh, after the line that tells the reason.
const advice = /could not read from remote repository|make sure you have the correct access|and the repository exists/i

const lastLine = (text: string): string =>
  text
    .split("\n")
    .map((line) => line.replace(/^(fatal|error|remote): ?/i, "").trim())
    .filter((line) => line !== "" && !advice.test(line))
    .at(-1)
    ?.slice(0, 300) ?? "git gave no reason"
