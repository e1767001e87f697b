/** A real bare git repository with the test agent in it, and ways to push changes. */
import { cp, mkdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { runCommand } from "@superstep/toolkit/exec/run-command"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import type { LanguageName } from "./languages.js"

const folderOf = (language: LanguageName) =>
  fileURLToPath(new URL(language === "JavaScript" ? "../../agent" : "../../agent-python", import.meta.url))

export interface Repository {
  /** `file://…`, as a deployment's `repo_url`. */
  readonly url: string
  /**
   * Writes files, by path, into the work tree and pushes them.
   * @param ref  where to; default the branch `main`
   * @returns    the commit
   */
  push(files: Readonly<Record<string, string>>, ref?: string): Promise<string>
}

export async function createRepository(language: LanguageName = "JavaScript"): Promise<Repository> {
  const folder = temporaryFolder()
  const [bare, tree] = [join(folder, "agent.git"), join(folder, "tree")]
  const git = async (...args: string[]) =>
    (await runCommand({ argv: ["git", ...identity, ...args], cwd: tree, ...setting })).stdout.trim()
  await cp(folderOf(language), tree, { recursive: true, filter: (path) => !/node_modules|__pycache__/.test(path) })
  await git("init", "--quiet", "--bare", "--initial-branch=main", bare)
  await git("init", "--quiet", "--initial-branch=main")
  await git("remote", "add", "origin", bare)
  const push: Repository["push"] = async (files, ref = "refs/heads/main") => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(tree, path)), { recursive: true })
      await writeFile(join(tree, path), text)
    }
    await git("add", "--all")
    await git("commit", "--quiet", "--allow-empty", "--message", "change the agent")
    await git("push", "--quiet", "origin", `HEAD:${ref}`)
    return git("rev-parse", "HEAD")
  }
  await push({})
  return { url: `file://${bare}`, push }
}

/** The file that says which version of the agent answers. */
export const versionFile = (
  version: string,
  language: LanguageName = "JavaScript",
): Readonly<Record<string, string>> =>
  language === "JavaScript"
    ? { "src/version.ts": `export const version = "${version}"\n` }
    : { "agent/version.py": `version = "${version}"\n` }

const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"]

const setting = {
  env: { PATH: process.env.PATH ?? "", GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  timeoutMs: 60_000,
}
