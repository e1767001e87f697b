/**
 * The error codes of revisions, as `docs/errors.md` explains them. `next` is also a part of the revision's `status_message`.
 * Long on purpose: one table.
 */
import type { ErrorEntry } from "@superstep/toolkit/errors/error-entry"

export const revisionCodes = {
  source_not_found: {
    http: [],
    what: "There is no such repository, or its host does not answer.",
    cause: "A typing error in `repo_url`, or a host that this machine cannot reach.",
    next: "Check repo_url, and that this machine can reach it.",
  },
  source_auth: {
    http: [],
    what: "The repository may not be read.",
    cause:
      "It is private, and the deployment has no integration, or the token of its integration is expired or for other repositories.",
    next: "Give the deployment an integration whose token may read the repository.",
  },
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
  config_missing: {
    http: [],
    what: "There is no file at `langgraph_config_path`, or it is a link out of the repository.",
    cause: "The project is in a subfolder, or the file was not committed.",
    next: "Check langgraph_config_path; it counts from the root of the repository.",
  },
  config_invalid: {
    http: [],
    what: "The configuration is no JSON, names no graphs, has values of wrong types, or a command has forbidden characters.",
    cause: "A typing error; the message names the field.",
    next: "Correct the file and deploy again.",
  },
  graph_missing: {
    http: [],
    what: "A graph's file is not in the code.",
    cause: "A typing error in `graphs`, or a file that `.gitignore` leaves out.",
    next: "Correct the path in langgraph.json, or add the file to the code: .gitignore may leave it out.",
  },
  node_version_unsupported: {
    http: [],
    what: "No Node of this machine is new enough for the project.",
    cause:
      "`node_version` of `langgraph.json` or `engines.node` asks for a newer one, and it is not Node 24 or cannot be fetched from the npm registry.",
    next: "Change the version, or install that Node beside Superstep's and name its folder in SUPERSTEP_NODE_DIRS.",
  },
  python_unsupported: {
    http: [],
    what: "This machine has no Python of `python_version` that deployments may start, or none from 3.10 on.",
    cause:
      "Python is not installed, lacks its module `venv` (`python3-venv` on Debian), or is in a user's own folder while the platform runs as root.",
    next: "Install that Python on this machine where other users can reach it (with its module venv), or change python_version.",
  },
  source_unsupported: {
    http: [],
    what: "This installation cannot deploy this kind of source.",
    cause:
      "Images need an installation that runs containers ([machines](machines.md)); a push needs a registry, which it may not have.",
    next: "Use source github with the address of any git repository, or upload the code (internal_source).",
  },
  install_failed: {
    http: [],
    what: "The packages could not be installed: the command exited with another code than 0.",
    cause:
      "Requirements that exclude each other, a lock file that does not match, a package that must be compiled, or an index that is not reachable; of Python packages the message says which.",
    next: "Run the same command in a clean checkout; the build log shows its output.",
  },
  build_command_failed: {
    http: [],
    what: "The build command exited with another code than 0.",
    cause: "A fault of the project; the build log shows it.",
    next: "Run the same command in a clean checkout; the build log shows its output.",
  },
  type_check_failed: {
    http: [],
    what: "The project's own compiler found type errors, or the project has no `typescript`.",
    cause: '`"superstep": {"typecheck": true}` in `package.json` asks for this check.',
    next: "Correct what the build log shows; node_modules/.bin/tsc --noEmit in the project checks the same.",
  },
  build_timeout: {
    http: [],
    what: "A step of the build took too long, or printed nothing for too long.",
    cause: "A command that waits for input or for a host, or a large compilation.",
    next: "See in the build log where it stands still, or raise SUPERSTEP_TIMEOUT_INSTALL, SUPERSTEP_TIMEOUT_BUILD or SUPERSTEP_TIMEOUT_SILENCE.",
  },
  build_oom: {
    http: [],
    what: "A step of the build exceeded its memory limit, or Node's own heap was full.",
    cause: "A bundler or compiler of a large project.",
    next: "Let the command use less memory, or raise SUPERSTEP_BUILD_MEMORY_MB.",
  },
  build_too_big: {
    http: [],
    what: "The build exceeded its disk limit.",
    cause: "Large packages (GPU libraries), models or caches.",
    next: "Let the build write less, or raise SUPERSTEP_BUILD_DISK_MB.",
  },
  graph_load_failed: {
    http: [],
    what: "A graph threw while it was loaded, has no such export, or exited the process.",
    cause: "An exception in the module; the message has its text and the lines around it.",
    next: "Correct the code; superstep dev loads it in the same way, where it has the same packages, files and variables.",
  },
  module_missing: {
    http: [],
    what: "A graph imports a package or a file that is not there.",
    cause: "The package is installed on your machine, and the project's dependencies do not name it.",
    next: "Add the package to requirements.txt, pyproject.toml or package.json: a build installs only what they name. If the module is yours, add its file to the code: .gitignore may leave it out.",
  },
  load_timeout: {
    http: [],
    what: "The graphs did not finish loading within `SUPERSTEP_TIMEOUT_VERIFY` (60 seconds).",
    cause: "A module that downloads a model or waits for a host while it loads.",
    next: "Do slow work when the graph runs and not while its module loads, or raise SUPERSTEP_TIMEOUT_VERIFY.",
  },
  secret_missing: {
    http: [],
    what: "A graph needs an environment variable while it loads, and the deployment does not have it.",
    cause: "The variable is in a local `.env`, which is never part of a build.",
    next: "Add the secret to the deployment, or read it where it is used and not while the graph loads.",
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
  capacity: {
    http: [503],
    what: "The platform has no room to start this agent server. As a reply of the edge: the deployment sleeps and cannot be started now.",
    cause:
      "All database connections, all users for deployments, or all memory of the machine are given to other agents.",
    next: "Pause or delete what is not used, let it sleep, or give Postgres a higher max_connections.",
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
