/**
 * The error codes of revisions, as `docs/errors.md` explains them. `next` is also a part of the revision's `status_message`.
 * Long on purpose: one table.
 */
import { buildCodes } from "@superstep/builder/faults/error-codes"
import { refusedImageCodes } from "@superstep/machines/port/error-codes"
import type { ErrorEntry } from "@superstep/toolkit/errors/error-entry"

export const revisionCodes = {
  ...buildCodes,
  ...refusedImageCodes,
  source_timeout: {
    http: [],
    what: "The code was not fetched within `SUPERSTEP_TIMEOUT_SOURCE` (5 minutes).",
    cause: "A slow or silent host, or a large repository.",
    next: "Check that the host answers; for a large repository, raise SUPERSTEP_TIMEOUT_SOURCE.",
  },
  source_too_big: {
    http: [],
    what: "The code has more than 200,000 files and folders, needs more than 4 GiB of disk, or its repository needs more memory than git may use.",
    cause: "Packages, models or data are in the repository.",
    next: "Keep large files and generated ones out of the repository; packages are installed by the build.",
  },
  ref_not_found: {
    http: [],
    what: "The repository has no such branch, tag or commit.",
    cause: "A typing error, or a branch that was deleted after its pull request.",
    next: "Check repo_ref: a branch, a full commit id, or refs/tags/ and the name of a tag.",
  },
  archive_invalid: {
    http: [],
    what: "The uploaded archive cannot be unpacked.",
    cause: "It is no `tar.gz`, was not uploaded completely, or has links out of its folder or special files.",
    next: "Pack the folder again with the deploy CLI, or with tar czf and plain files only.",
  },
  archive_too_big: {
    http: [],
    what: "The unpacked archive has more than 200,000 files and folders or needs more than 4 GiB.",
    cause: "`node_modules`, `.venv`, models or data are in the folder.",
    next: "Leave large files out with .dockerignore or .gitignore.",
  },
  crash_loop: {
    http: [],
    what: "The agent server of the revision exited several times. If the revision had been deployed, the one before it serves again.",
    cause: "Memory, a crash outside of any run, or a worker that exits at its start.",
    next: "See the deploy log for what the process said last.",
  },
  health_timeout: {
    http: [],
    what: "The agent server of the revision was not ready within `SUPERSTEP_TIMEOUT_HEALTH`.",
    cause: "Graphs that load slowly, a busy machine, or an address that does not lead to the edge.",
    next: "See the deploy log, or raise SUPERSTEP_TIMEOUT_HEALTH.",
  },
  oom_killed: {
    http: [],
    what: "The agent server exceeded its memory limit while it started.",
    cause: "Models or data that are loaded with the module, or a small `memory_mb`.",
    next: "Raise resource_spec.memory_mb, or load less; the deploy log says what its limit was.",
  },
  orphaned_threads: {
    http: [],
    what: "Threads wait at nodes that the new revision does not have, and `on_orphaned_threads` is `fail`.",
    cause: "A node was renamed or removed while threads wait for a person before it.",
    next: "Keep those nodes, or set on_orphaned_threads to pin: then the threads finish on the revision before.",
  },
  canary_failed: {
    http: [],
    what: "The canary's runs failed more often than those of the revision that serves, so it gets no more threads.",
    cause: "A fault of the new revision.",
    next: "Compare the errors of its runs with those of the revision that serves.",
  },
  canary_aborted: {
    http: [],
    what: "The canary was aborted on request.",
    cause: "`superstep abort`, the console or the API.",
    next: "Deploy again when it should be tried anew.",
  },
  canary_replaced: {
    http: [],
    what: "A newer revision took the canary's place.",
    cause: "A deploy during a canary.",
    next: "Nothing: the newer revision holds this one's changes too.",
  },
  db_unreachable: {
    http: [],
    what: "The platform's Postgres did not answer for ten minutes while the revision was processed.",
    cause: "The server is stopped, restarted or full.",
    next: "Check the Postgres server of the platform: the one of DATABASE_URI, or the one that superstep up starts.",
  },
  disk_full: {
    http: [],
    what: "The disk of `SUPERSTEP_HOME` was full, also at the fourth try.",
    cause: "Kept artifacts, build caches, logs, or other programs on the disk.",
    next: "Make room on the disk of SUPERSTEP_HOME: delete deployments, lower SUPERSTEP_KEEP_ARTIFACTS, or give it a larger one. Then redeploy.",
  },
  disk_quota: {
    http: [],
    what: "The workspace keeps more on disk than its [quota](operations.md#quotas) `disk_mb`.",
    cause: "Many deployments, or large ones.",
    next: "Let the project need less, or delete deployments; the operator can raise the quota (superstep quotas).",
  },
  crash_loop_guard: {
    http: [],
    what: "The control plane exited three times while it processed this revision, so it stopped trying.",
    cause: "Its machine has too little memory, or a bug.",
    next: "The platform ended three times while it worked on this revision; see its log, then redeploy.",
  },
  interrupted: {
    http: [],
    what: "The revision was interrupted on request before it served.",
    cause: "`superstep interrupt`, the console or the API; also a restore from a backup.",
    next: "Redeploy the revision to try again.",
  },
  superseded: {
    http: [],
    what: "A newer revision of the deployment took this one's place before it was deployed.",
    cause: "Two pushes or deploys in a short time.",
    next: "Nothing: the newer revision holds this one's changes too.",
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>

export type RevisionCodes = typeof revisionCodes
