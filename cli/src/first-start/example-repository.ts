/** The example agent in a real git repository of the installation's own, so that the first deployment is like any other. */
import { existsSync } from "node:fs"
import { appendFile, mkdir, mkdtemp, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { CommandFailed, runCommand } from "@superstep/toolkit/exec/run-command"
import type { Home } from "../home/home.js"
import { copyTemplate } from "../project/template.js"

export class GitFailed extends KnownError {
  readonly code = "git_failed"
}

/** The name of the example, of its repository and of its deployment. */
export const exampleName = "chat"

/**
 * Creates `<home>/git/chat.git` with one commit on `main`, unless it exists.
 * @param searchPath  where git is searched, as in PATH
 * @returns  its address for `repo_url`
 * @throws GitFailed  when git is missing or fails
 */
export async function ensureExampleRepository(home: Home, searchPath: string): Promise<string> {
  const repository = join(home.git, `${exampleName}.git`)
  if (!existsSync(repository)) await makeRepository(home, repository, searchPath)
  return pathToFileURL(repository).href
}

/**
 * Checks for git before anything is started: without it the example, and all deployments from a repository, would fail.
 * @throws GitFailed
 */
export async function requireGit(folder: string, searchPath: string): Promise<void> {
  await runGit({ cwd: folder, args: ["--version"], searchPath })
}

// The first agent answers sooner by a third of its packages. For npm, a lock file has to name them all the same.
const withoutCompiler = "# Its build runs no compiler, so the packages for development are not installed.\nomit=dev\n"

/** Created under another name and then renamed: a kill leaves no partial repository. */
async function makeRepository(home: Home, repository: string, searchPath: string): Promise<void> {
  await mkdir(home.git, { recursive: true })
  const draft = await mkdtemp(join(home.git, "draft-"))
  try {
    const git = (cwd: string, ...args: string[]) => runGit({ cwd, args, searchPath })
    const [work, bare] = [join(draft, "work"), join(draft, "bare")]
    await copyTemplate(exampleName, work)
    await appendFile(join(work, ".npmrc"), withoutCompiler)
    await git(work, "init", "--quiet", "--initial-branch=main")
    await git(work, "add", "--all")
    await git(work, "commit", "--quiet", "--message", "The example agent")
    await git(draft, "clone", "--quiet", "--bare", "--no-hardlinks", work, bare)
    await rename(bare, repository)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** Excludes the user's own git settings (signing, hooks, templates). */
const cleanEnvironment = (home: string, searchPath: string): Record<string, string> => ({
  PATH: searchPath,
  HOME: home,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "Superstep",
  GIT_AUTHOR_EMAIL: "superstep@localhost",
  GIT_COMMITTER_NAME: "Superstep",
  GIT_COMMITTER_EMAIL: "superstep@localhost",
  LC_ALL: "C",
})

async function runGit({ cwd, args, searchPath }: { cwd: string; args: string[]; searchPath: string }): Promise<void> {
  try {
    await runCommand({ argv: ["git", ...args], cwd, env: cleanEnvironment(cwd, searchPath), timeoutMs: 30_000 })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") {
      throw new GitFailed("git is not installed: install it, or start without the example (--no-example)", { cause })
    }
    if (cause instanceof CommandFailed) throw new GitFailed(`git ${args[0]}: ${cause.lastLines}`, { cause })
    throw cause
  }
}
