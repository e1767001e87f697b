/** Git repositories through the system's git: argument lists only, never a shell. */
import { mkdir, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { CommandFailed, runCommand } from "@superstep/toolkit/exec/run-command"
import {
  basicOf,
  commitOf,
  fetchArguments,
  gitEnvironment,
  lsRemoteArguments,
  parseRef,
  type Ref,
} from "./git-command.js"
import { classifyGitFailure, refNotFound } from "./git-failure.js"
import { makeGitHome } from "./git-home.js"
import { credentialsApply, type GitCredentials, type GitLocation } from "./git-location.js"
import { type FetchedTree, type Source, SourceFailed } from "./port.js"
import { withSshFiles } from "./ssh-files.js"

export interface GitSettings {
  /** `https`, `ssh`, `http`, `file`, `git`. */
  readonly protocols: readonly string[]
  /** Of the control plane; a few names of it reach git. */
  readonly environment: NodeJS.ProcessEnv
  /** How long one git command may take, in milliseconds. */
  readonly timeoutMs: number
  /** What git takes for a home, and where it remembers host keys (`git-home.ts`). */
  readonly homeFolder: string
  /** A folder that only we may enter: ssh keys are in it while git runs. */
  readonly keysFolder: string
}

export interface GitSource extends Source<GitLocation> {
  /**
   * Where refs are now, with one question to the host.
   * @param refs  full names, such as `refs/heads/main`
   * @returns     commit ids by ref; those that are not there are left out
   * @throws SourceFailed
   */
  heads(
    location: Omit<GitLocation, "ref">,
    refs: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>>
}

export function gitSource(settings: GitSettings): GitSource {
  const { environment: base, protocols, timeoutMs, homeFolder, keysFolder } = settings

  const git = async (location: GitLocation, args: readonly string[], signal: AbortSignal, folder?: string) => {
    const { repoUrl, ref } = location
    const credentials = applicable(location)
    const home = await makeGitHome(homeFolder)
    // git looks for a repository, and its settings, in the folders above: so never in one that others may write to.
    const cwd = folder ?? home.emptyFolder
    try {
      return await withSshFiles(keysFolder, credentials, async (ssh) => {
        const env = gitEnvironment({ base, home, protocols, repoUrl, credentials, ssh })
        return (await runCommand({ argv: ["git", ...args], cwd, env, signal, timeoutMs })).stdout
      })
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof CommandFailed)) throw error
      const { exitCode, killedBy, lastLines } = error
      // A host may answer with what it was sent.
      throw classifyGitFailure({ exitCode, killedBy, lastLines: hideToken(lastLines, credentials) }, repoUrl, ref)
    }
  }

  const resolve = async (location: GitLocation, signal: AbortSignal): Promise<string> => {
    const ref = refOf(location)
    if (ref.kind === "sha") return ref.sha
    const output = await git(location, lsRemoteArguments(location.repoUrl, ref.candidates), signal)
    const sha = commitOf(output, ref.candidates)
    if (!sha) throw refNotFound(location.repoUrl, location.ref)
    return sha
  }

  const heads: GitSource["heads"] = async (location, refs, signal) => {
    refuseOption(location.repoUrl)
    const named = { ...location, ref: refs.join(", ") }
    const output = await git(named, ["ls-remote", "--", location.repoUrl, ...refs], signal)
    const found = refs.map((ref) => [ref, commitOf(output, [ref])] as const)
    return new Map(found.filter((it): it is readonly [string, string] => it[1] !== undefined))
  }

  const fetch = async (location: GitLocation, sha: string, folder: string, signal: AbortSignal) => {
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
  return { resolve, fetch, heads }
}

/** Credentials for another host stay where they are. */
const applicable = ({ repoUrl, credentials }: GitLocation): GitCredentials | undefined =>
  credentials && credentialsApply(repoUrl, credentials) ? credentials : undefined

function hideToken(text: string, credentials: GitCredentials | undefined): string {
  if (credentials?.kind !== "token") return text
  return text.replaceAll(basicOf(credentials), "[hidden]").replaceAll(credentials.token.reveal(), "[hidden]")
}

type RunGit = (...args: string[]) => Promise<string>

/** A server may refuse to hand out a bare commit id; then the named ref is fetched and has to contain it. */
async function fetchCommit(location: GitLocation, sha: string, run: RunGit): Promise<void> {
  try {
    await run(...fetchArguments(location.repoUrl, sha))
  } catch (error) {
    const ref = refOf(location)
    const isRefused = error instanceof SourceFailed && error.code === "ref_not_found"
    if (!isRefused || ref.kind === "sha") throw error
    await fetchByName(location, ref.candidates, run)
  }
}

async function fetchByName(location: GitLocation, candidates: readonly string[], run: RunGit): Promise<void> {
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

async function describe(run: RunGit): Promise<FetchedTree> {
  const shown = await run("show", "--no-patch", "--format=%H%x1f%T%x1f%s%x1f%an", "HEAD")
  const [sha = "", treeHash = "", message = "", author = ""] = shown.trimEnd().split(fieldSeparator)
  return { treeHash, commit: { sha, message, author } }
}

function refOf({ repoUrl, ref }: GitLocation): Ref {
  refuseOption(repoUrl)
  const parsed = parseRef(ref)
  if (!parsed) throw new SourceFailed("ref_not_found", `"${ref}" cannot be the name of a branch, tag or commit`)
  return parsed
}

function refuseOption(repoUrl: string): void {
  if (!repoUrl.startsWith("-")) return
  throw new SourceFailed("source_not_found", `${repoUrl} is not an address of a repository`)
}
