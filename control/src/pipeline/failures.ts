/** Why revisions fail, in words; and which faults may pass by themselves. Pure. */
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { BuildFailed } from "../builders/failure.js"
import { diskIsFull, saysDiskIsFull } from "../files/disk-room.js"
import type { ErrorCode } from "../revisions/revision.js"
import { TooManyDeployments } from "../runtimes/isolation.js"
import { SourceFailed } from "../sources/port.js"

/** The revision's unit does not come up, or not as it should. */
export class DeployFailed extends KnownError {
  readonly code: ErrorCode
  constructor(code: ErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** What to do next, one line for each code. */
export const hints: Readonly<Record<ErrorCode, string>> = {
  source_not_found: "Check repo_url, and that this machine can reach it.",
  source_auth: "Give the deployment an integration whose token may read the repository.",
  ref_not_found: "Check repo_ref: a branch, refs/tags/<tag> or a full commit id.",
  archive_invalid: "Pack the folder again with the deploy CLI, or with tar czf and plain files only.",
  archive_too_big: "Leave large files out with .dockerignore or .gitignore.",
  config_missing: "Check langgraph_config_path; it counts from the root of the repository.",
  config_invalid: "Correct the file and push again.",
  graph_missing: "Correct the path in langgraph.json, or commit the file.",
  node_version_unsupported:
    "Change the version, or install that Node beside Superstep's and name its folder in SUPERSTEP_NODE_DIRS.",
  python_unsupported: "Deploy graphs written in TypeScript or JavaScript.",
  source_unsupported: "Use source github with the address of any git repository, or upload the code (internal_source).",
  install_failed: "Run the same command in a clean checkout; the build log shows its output.",
  build_command_failed: "Run the same command in a clean checkout; the build log shows its output.",
  build_timeout:
    "See in the build log where it stands still, or raise SUPERSTEP_TIMEOUT_INSTALL or SUPERSTEP_TIMEOUT_BUILD.",
  build_oom: "Let the command use less memory, or raise SUPERSTEP_BUILD_MEMORY_MB.",
  build_too_big: "Let the build write less, or raise SUPERSTEP_BUILD_DISK_MB.",
  graph_load_failed: "Run superstep dev in the project; it shows the same error.",
  crash_loop: "See the deploy log for what the process said last.",
  health_timeout: "See the deploy log, or raise SUPERSTEP_TIMEOUT_HEALTH.",
  oom_killed: "Raise resource_spec.memory_mb, or load less; the deploy log says what its limit was.",
  capacity: "Pause or delete what is not used, let it sleep, or give Postgres a higher max_connections.",
  db_unreachable: "Check the Postgres server behind DATABASE_URI.",
  disk_full:
    "Make room on the disk of SUPERSTEP_HOME: delete deployments, lower SUPERSTEP_KEEP_ARTIFACTS, or give it a larger one. Then redeploy.",
  secret_missing: "Add the secret to the deployment, or read it where it is used and not while the graph loads.",
  crash_loop_guard: "The platform ended three times while it worked on this revision; see its log, then redeploy.",
  interrupted: "Redeploy the revision to try again.",
  superseded: "Nothing: the newer revision holds this one's changes too.",
  internal: "See the log of the platform.",
}

/** What becomes of a stage that threw. */
export type Verdict =
  | { readonly kind: "retry"; readonly delayMs: number; readonly why: string }
  | { readonly kind: "fail"; readonly code: ErrorCode; readonly message: string }

// Three more tries, farther and farther apart (control-plane §6.3, rule 4).
const retryDelaysMs = [5000, 20_000, 60_000]

/**
 * A person's fault fails at once: the same input fails the same way. Anything else (network, disk, database, a bug)
 * may pass.
 * @param attempts  tries of this stage that have failed before
 */
export function judge(error: unknown, attempts: number): Verdict {
  const words = error instanceof Error ? error.message : String(error)
  const known = error instanceof BuildFailed || error instanceof DeployFailed || error instanceof SourceFailed
  if (known && !(error instanceof SourceFailed && error.isTransient)) {
    return { kind: "fail", code: error.code, message: words }
  }
  if (error instanceof TooManyDeployments) return { kind: "fail", code: "capacity", message: words }
  const isFull = saysDiskIsFull(words)
  const message = isFull ? diskIsFull : words
  const delayMs = retryDelaysMs[attempts]
  if (delayMs !== undefined) return { kind: "retry", delayMs, why: `${message}; trying again in ${delayMs / 1000} s` }
  return { kind: "fail", code: isFull ? "disk_full" : codeOf(error), message }
}

function codeOf(error: unknown): ErrorCode {
  if (error instanceof SourceFailed) return error.code
  return error instanceof DatabaseUnavailable ? "db_unreachable" : "internal"
}

const shownLines = 5

/** What a reader of the revision sees: the fault, what to do, and the end of the log. */
export function statusMessage(code: ErrorCode, message: string, lastLines: readonly string[]): string {
  const tail = lastLines.slice(-shownLines).filter((line) => line.trim() !== "" && !message.includes(line))
  const log = tail.length === 0 ? "" : `\n${tail.map((line) => `  ${line}`).join("\n")}`
  return `${message.replace(/\.$/, "")}. ${hints[code]}${log}`
}
