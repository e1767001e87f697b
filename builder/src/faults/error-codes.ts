/** The error codes of builds, as `docs/errors.md` explains them. `next` is also a part of a revision's `status_message`. */
import type { ErrorEntry } from "@superstep/toolkit/errors/error-entry"

export const buildCodes = {
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
} as const satisfies Readonly<Record<string, ErrorEntry>>

export type BuildCodes = typeof buildCodes

declare module "@superstep/toolkit/errors/codes" {
  interface ErrorCodes extends BuildCodes {}
}
