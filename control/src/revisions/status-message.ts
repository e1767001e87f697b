/** The message of a revision that failed: what happened, and what to do next. Pure. */
import type { ErrorCode } from "./revision.js"

/** What the reader should do next, one line for each code. */
export const hints: Readonly<Record<ErrorCode, string>> = {
  source_not_found: "Check repo_url, and that this machine can reach it.",
  source_auth: "Give the deployment an integration whose token may read the repository.",
  source_timeout: "Check that the host answers; for a large repository, raise SUPERSTEP_TIMEOUT_SOURCE.",
  source_too_big: "Keep large files and generated ones out of the repository; packages are installed by the build.",
  ref_not_found: "Check repo_ref: a branch, refs/tags/<tag> or a full commit id.",
  archive_invalid: "Pack the folder again with the deploy CLI, or with tar czf and plain files only.",
  archive_too_big: "Leave large files out with .dockerignore or .gitignore.",
  config_missing: "Check langgraph_config_path; it counts from the root of the repository.",
  config_invalid: "Correct the file and deploy again.",
  graph_missing: "Correct the path in langgraph.json, or add the file to the code: .gitignore may leave it out.",
  node_version_unsupported:
    "Change the version, or install that Node beside Superstep's and name its folder in SUPERSTEP_NODE_DIRS.",
  python_unsupported:
    "Install that Python on this machine where other users can reach it (with its module venv), or change python_version.",
  source_unsupported: "Use source github with the address of any git repository, or upload the code (internal_source).",
  install_failed: "Run the same command in a clean checkout; the build log shows its output.",
  build_command_failed: "Run the same command in a clean checkout; the build log shows its output.",
  type_check_failed: "Correct what the build log shows; node_modules/.bin/tsc --noEmit in the project checks the same.",
  build_timeout:
    "See in the build log where it stands still, or raise SUPERSTEP_TIMEOUT_INSTALL, SUPERSTEP_TIMEOUT_BUILD or SUPERSTEP_TIMEOUT_SILENCE.",
  build_oom: "Let the command use less memory, or raise SUPERSTEP_BUILD_MEMORY_MB.",
  build_too_big: "Let the build write less, or raise SUPERSTEP_BUILD_DISK_MB.",
  graph_load_failed:
    "Correct the code; superstep dev loads it in the same way, where it has the same packages, files and variables.",
  module_missing:
    "Add the package to requirements.txt, pyproject.toml or package.json: a build installs only what they name. If the module is yours, add its file to the code: .gitignore may leave it out.",
  load_timeout: "Do slow work when the graph runs and not while its module loads, or raise SUPERSTEP_TIMEOUT_VERIFY.",
  crash_loop: "See the deploy log for what the process said last.",
  orphaned_threads:
    "Keep those nodes, or set on_orphaned_threads to pin: then the threads finish on the revision before.",
  canary_failed: "Compare the errors of its runs with those of the revision that serves.",
  canary_replaced: "Nothing: the newer revision holds this one's changes too.",
  canary_aborted: "Deploy again when it should be tried anew.",
  health_timeout: "See the deploy log, or raise SUPERSTEP_TIMEOUT_HEALTH.",
  oom_killed: "Raise resource_spec.memory_mb, or load less; the deploy log says what its limit was.",
  capacity: "Pause or delete what is not used, let it sleep, or give Postgres a higher max_connections.",
  db_unreachable:
    "Check the Postgres server of the platform: the one of DATABASE_URI, or the one that superstep up starts.",
  disk_full:
    "Make room on the disk of SUPERSTEP_HOME: delete deployments, lower SUPERSTEP_KEEP_ARTIFACTS, or give it a larger one. Then redeploy.",
  disk_quota: "Let the project need less, or delete deployments; the operator can raise the quota (superstep quotas).",
  secret_missing: "Add the secret to the deployment, or read it where it is used and not while the graph loads.",
  crash_loop_guard: "The platform ended three times while it worked on this revision; see its log, then redeploy.",
  interrupted: "Redeploy the revision to try again.",
  superseded: "Nothing: the newer revision holds this one's changes too.",
  internal: "See the log of the platform.",
}

const shownLines = 5
/** How many lines of the log `statusMessage` takes: those shown, and those before them to which they may belong. */
export const readLines = 12

// Lines of ours about how long a step took, which come after what the step said.
const isDuration = (line: string): boolean => /^\w+ took \d+ ms$/.test(line)
/** A line of a source excerpt: ` 2 | import …`, or `   |    ^` below the line that it points to. */
const isExcerpt = (line: string): boolean => /^[\s>\d]{0,40}\|/.test(line)

/** The end of a log, and the whole of a source excerpt that it starts in. */
function endOf(lastLines: readonly string[]): readonly string[] {
  const all = lastLines.flatMap((line) => line.split("\n"))
  const lines = all.slice(-readLines).filter((line) => line.trim() !== "" && !isDuration(line))
  let start = Math.max(0, lines.length - shownLines)
  while (start > 0 && isExcerpt(lines[start] ?? "")) start--
  return lines.slice(start)
}

/** The revision's status message: the fault, what to do, and the end of the log. @param lastLines  `readLines` of them */
export function statusMessage(code: ErrorCode, message: string, lastLines: readonly string[]): string {
  const tail = endOf(lastLines).filter((line) => !message.includes(line))
  const log = tail.length === 0 ? "" : `\n${tail.map((line) => `  ${line}`).join("\n")}`
  return `${message.replace(/\.$/, "")}. ${hints[code]}${log}`
}
