/** Real git repositories for tests: bare ones, as on a host. */
import { execFileSync } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

export interface BareRepository {
  /** `file:///…` */
  readonly url: string
  readonly folder: string
  /**
   * Commits exactly these files on the branch.
   * @param links  targets of symbolic links, by name
   * @returns      the commit's id
   */
  commit(files: Readonly<Record<string, string>>, branch?: string, links?: Readonly<Record<string, string>>): string
  git(...args: string[]): string
}

const who = { GIT_AUTHOR_NAME: "Ada", GIT_AUTHOR_EMAIL: "ada@example.org" }
const env = {
  PATH: process.env.PATH ?? "",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.org",
  ...who,
}

/** @param parent  an existing folder, which the test removes */
export function bareRepository(parent: string): BareRepository {
  const folder = mkdtempSync(join(parent, "repository-"))
  // A control plane of root fetches as a user of its own.
  chmodSync(folder, 0o755)
  const bare = join(folder, "bare.git")
  const work = join(folder, "work")
  const run = (cwd: string, ...args: string[]) => execFileSync("git", args, { cwd, env, encoding: "utf8" }).trim()
  run(folder, "init", "--quiet", "--bare", "--initial-branch=main", bare)
  // Not a clone: that prints a warning about an empty repository in every test.
  run(folder, "init", "--quiet", "--initial-branch=main", work)
  run(work, "remote", "add", "origin", bare)
  const commit: BareRepository["commit"] = (files, branch = "main", links = {}) => {
    run(work, "checkout", "--quiet", "-B", branch)
    for (const name of run(work, "ls-files")
      .split("\n")
      .filter((line) => line !== ""))
      rmSync(join(work, name))
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(work, name)), { recursive: true })
      writeFileSync(join(work, name), content)
    }
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(work, name))
    run(work, "add", "--all")
    run(work, "commit", "--quiet", "--allow-empty", "--message", `change ${branch}`)
    run(work, "push", "--quiet", "--force", "origin", branch)
    return run(work, "rev-parse", "HEAD")
  }
  return { url: `file://${bare}`, folder: bare, commit, git: (...args) => run(bare, ...args) }
}
