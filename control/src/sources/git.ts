/** Git repositories through the system's git: argument lists only, never a shell. */
import { mkdir, rename, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CommandFailed, runCommand } from "@superstep/toolkit/exec/run-command"
import { commitOf, fetchArguments, gitEnvironment, lsRemoteArguments, parseRef, type Ref } from "./git-command.js"
import { classifyGitFailure, refNotFound } from "./git-failure.js"
import { makeGitHome } from "./git-home.js"
import { type FetchedCommit, type Source, SourceFailed, type SourceLocation } from "./port.js"

export interface GitSettings {
  /** `https`, `ssh`, `http`, `file`, `git`. */
  readonly protocols: readonly string[]
  /** Of the control plane; a few names of it reach git. */
  readonly environment: NodeJS.ProcessEnv
  /** How long one git command may take, in milliseconds. */
  readonly timeoutMs: number
}

export function gitSource(settings: GitSettings): Source {
  const environmentFor = async ({ repoUrl, credentials }: SourceLocation) => {
    const { environment: base, protocols } = settings
    return gitEnvironment({ base, home: await makeGitHome(), protocols, repoUrl, credentials })
  }

  const git = async (location: SourceLocation, args: readonly string[], signal: AbortSignal, cwd?: string) => {
    const env = await environmentFor(location)
    try {
      const command = { argv: ["git", ...args] as const, cwd: cwd ?? tmpdir(), env, signal }
      return (await runCommand({ ...command, timeoutMs: settings.timeoutMs })).stdout
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof CommandFailed)) throw error
      throw classifyGitFailure(error, location.repoUrl, location.ref)
    }
  }

  const resolve = async (location: SourceLocation, signal: AbortSignal): Promise<string> => {
    const ref = refOf(location)
    if (ref.kind === "sha") return ref.sha
    const output = await git(location, lsRemoteArguments(location.repoUrl, ref.candidates), signal)
    const sha = commitOf(output, ref.candidates)
    if (!sha) throw refNotFound(location.repoUrl, location.ref)
    return sha
  }

  const fetch = async (location: SourceLocation, sha: string, folder: string, signal: AbortSignal) => {
    const partial = `${folder}.partial`
    await rm(partial, { recursive: true, force: true })
    await rm(folder, { recursive: true, force: true })
    await mkdir(partial, { recursive: true })
    const run = (...args: string[]) => git(location, args, signal, partial)
    await run("init", "--quiet")
    await fetchCommit(location, sha, run)
    await run("checkout", "--quiet", "--detach", sha)
    const commit = await describe(run)
    await rm(join(partial, ".git"), { recursive: true, force: true })
    await rename(partial, folder)
    return commit
  }
  return { resolve, fetch }
}

type RunGit = (...args: string[]) => Promise<string>

/** A server may refuse to hand out a bare commit id; then the named ref is fetched and has to contain it. */
async function fetchCommit(location: SourceLocation, sha: string, run: RunGit): Promise<void> {
  try {
    await run(...fetchArguments(location.repoUrl, sha))
  } catch (error) {
    const ref = refOf(location)
    const isRefused = error instanceof SourceFailed && error.code === "ref_not_found"
    if (!isRefused || ref.kind === "sha") throw error
    await fetchByName(location, ref.candidates, run)
  }
}

async function fetchByName(location: SourceLocation, candidates: readonly string[], run: RunGit): Promise<void> {
  for (const [index, candidate] of candidates.entries()) {
    try {
      await run(...fetchArguments(location.repoUrl, candidate).filter((argument) => argument !== "--depth=1"))
      return
    } catch (error) {
      if (index === candidates.length - 1) throw error
    }
  }
}

const fieldSeparator = "\u001f"

async function describe(run: RunGit): Promise<FetchedCommit> {
  const shown = await run("show", "--no-patch", "--format=%H%x1f%T%x1f%s%x1f%an", "HEAD")
  const [sha = "", treeHash = "", message = "", author = ""] = shown.trimEnd().split(fieldSeparator)
  return { sha, treeHash, message, author }
}

function refOf({ repoUrl, ref }: SourceLocation): Ref {
  if (repoUrl.startsWith("-"))
    throw new SourceFailed("source_not_found", `${repoUrl} is not an address of a repository`)
  const parsed = parseRef(ref)
  if (!parsed) throw new SourceFailed("ref_not_found", `"${ref}" cannot be the name of a branch, tag or commit`)
  return parsed
}
