/** The commit that a folder is at, for deploys that can be told apart. */
import { CommandFailed, runCommand } from "@superstep/toolkit/exec/run-command"

/** As the platform's API has it (`source_revision_config.commit`). */
export interface FolderCommit {
  readonly sha: string
  /** Its first line. */
  readonly message: string
  readonly author: string
  /** Null: none is checked out. */
  readonly branch: string | null
  /** Whether the folder has changes that the commit does not have; ignored files do not count. */
  readonly is_dirty: boolean
}

// The listing of changes reads every file of the folder.
const timeoutMs = 30_000
const notARepository = /not a git repository/

/**
 * Reads it with the system's git, which changes nothing.
 * @param warn  called with the reason when git is there and cannot read the repository
 * @returns     undefined when the folder is not part of a commit, or without git
 */
export async function commitOf(
  folder: string,
  { environment, warn }: { environment: Readonly<Record<string, string>>; warn: (message: string) => void },
): Promise<FolderCommit | undefined> {
  try {
    return await readCommit(gitIn(folder, environment))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    if (!(error instanceof CommandFailed)) throw error
    if (!notARepository.test(error.lastLines))
      warn(`the revision does not name its commit, since git fails: ${error.lastLines}`)
    return undefined
  }
}

type Git = (...args: string[]) => Promise<string>

async function readCommit(git: Git): Promise<FolderCommit | undefined> {
  await git("rev-parse", "--is-inside-work-tree")
  // A folder that its repository ignores, or does not know yet, is no part of the commit.
  if ((await unlessExit1(git("rev-parse", "--verify", "--quiet", "HEAD:./"))) === undefined) return undefined
  // What has any length comes last: output is cut.
  const shown = await git("show", "--no-patch", "--no-show-signature", "--format=%H%x00%an%x00%s", "HEAD")
  const [sha = "", author = "", message = ""] = shown.trimEnd().split("\0")
  const branch = await unlessExit1(git("symbolic-ref", "--quiet", "--short", "HEAD"))
  const changes = await git("status", "--porcelain", "--untracked-files=normal", "--", ".")
  return { sha, message, author, branch: branch?.trim() ?? null, is_dirty: changes !== "" }
}

/** With `--quiet`, exit code 1 is an answer: there is no such thing. */
async function unlessExit1(output: Promise<string>): Promise<string | undefined> {
  try {
    return await output
  } catch (error) {
    if (error instanceof CommandFailed && error.exitCode === 1) return undefined
    throw error
  }
}

// A hook of git sets them for its own repository.
const ofHooks = new Set(["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"])

function gitIn(folder: string, environment: Readonly<Record<string, string>>): Git {
  const inherited = Object.entries(environment).filter(([name]) => !ofHooks.has(name))
  const env = { ...Object.fromEntries(inherited), LC_ALL: "C", GIT_OPTIONAL_LOCKS: "0" }
  return async (...args) => {
    const argv = ["git", "-c", "core.fsmonitor=false", ...args] as const
    return (await runCommand({ argv: [...argv], cwd: folder, env, timeoutMs })).stdout
  }
}
