/** Fetches from git repositories with the system's git: argument lists only, never a shell. */
import { mkdir, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { withMemoryLimit } from "@superstep/toolkit/exec/limited-command"
import { CommandFailed, runCommand } from "@superstep/toolkit/exec/run-command"
import { untilDiskExceeds, usedDiskMb } from "@superstep/toolkit/files/disk-use"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { shownLine } from "@superstep/toolkit/text/shown-line"
import { absentContent } from "./absent-content.js"
import {
  basicOf,
  commitOf,
  fetchArguments,
  gitEnvironment,
  listArguments,
  lsRemoteArguments,
  parseRef,
  type Ref,
  treeMeter,
} from "./git-command.js"
import { classifyGitFailure, needsMemory, nothingListed, refNotFound } from "./git-failure.js"
import { makeGitHome } from "./git-home.js"
import { credentialsApply, type GitCredentials, type GitLocation } from "./git-location.js"
import { traceHttp } from "./http-trace.js"
import { type FetchedTree, type Source, SourceFailed } from "./port.js"
import { type SourceLimits, sourceLimits } from "./source-limits.js"
import { withSshFiles } from "./ssh-files.js"
import { trustFile } from "./trusted-repository.js"
import { unreadablePart } from "./unreadable-repository.js"

export interface GitSettings {
  /** `https`, `ssh`, `http`, `file`, `git`. */
  readonly protocols: readonly string[]
  /** The control plane's environment; git gets a few of its variables. */
  readonly environment: NodeJS.ProcessEnv
  /** How long one git command may take, in milliseconds. */
  readonly timeoutMs: number
  /** Git's home, and the place of known host keys (`git-home.ts`). */
  readonly homeFolder: string
  /** A folder that only we may enter: it contains ssh keys while git runs. */
  readonly keysFolder: string
  /** Default `sourceLimits`. */
  readonly limits?: SourceLimits
  /** Of each process of git. Default `gitMemoryMb`. */
  readonly memoryMb?: typeof gitMemoryMb
}

// A million refs need 150 MB; a fetch needs most for the differences between the versions of large files.
const gitMemoryMb = { list: 256, other: 1024 }

export interface GitSource extends Source<GitLocation> {
  /**
   * The present commits of refs, with one request to the host.
   * @param refs  full names, such as `refs/heads/main`
   * @returns     commit ids by ref; missing refs are left out
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
  const { limits = sourceLimits, memoryMb = gitMemoryMb } = settings

  const git = async (
    location: GitLocation,
    args: readonly string[],
    signal: AbortSignal,
    { folder, onOutput }: { folder?: string; onOutput?: (chunk: Buffer) => void } = {},
  ) => {
    const { repoUrl, ref } = location
    const credentials = applicable(location)
    const home = await makeGitHome(homeFolder)
    const trusted = await trustFile(homeFolder, repoUrl)
    // git searches the parent folders for a repository and its settings, so never start it in a folder that others may write to.
    const cwd = folder ?? home.emptyFolder
    const trace = await traceHttp(repoUrl, args[0], { folder, keysFolder })
    try {
      return await withSshFiles(keysFolder, credentials, async (ssh) => {
        const own = gitEnvironment({ base, home, protocols, repoUrl, credentials, ssh, trustFile: trusted })
        const env = { ...own, ...trace.variables }
        const argv = withMemoryLimit(["git", ...args], {
          memoryMb: args[0] === "ls-remote" ? memoryMb.list : memoryMb.other,
          path: env.PATH ?? "",
        })
        return (await runCommand({ argv, cwd, env, signal, timeoutMs, onOutput })).stdout
      })
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof CommandFailed)) throw error
      const { exitCode, killedBy, lastLines } = error
      const unreadable = await unreadablePart(repoUrl)
      if (unreadable) throw new SourceFailed("source_auth", unreadable)
      // A host may answer with what it was sent.
      const askedMs = await trace.askedMs()
      const failure = { exitCode, killedBy, lastLines: hideToken(lastLines, credentials), askedMs }
      throw classifyGitFailure(failure, repoUrl, ref)
    } finally {
      await trace.remove()
    }
  }

  /** @returns  what git prints; "" when the repository has none of these */
  const list = async (location: GitLocation, refs: readonly string[], outer: AbortSignal): Promise<string> => {
    const over = new AbortController()
    let bytes = 0
    const onOutput = (chunk: Buffer) => {
      bytes += chunk.length
      // It has a branch or a tag, which is all that is asked.
      if (refs.length === 0) over.abort(new SomethingListed())
      if (bytes > mostListedBytes) over.abort(needsMemory(location.repoUrl))
    }
    try {
      const signal = AbortSignal.any([outer, over.signal])
      return await git(location, lsRemoteArguments(location.repoUrl, refs), signal, { onOutput })
    } catch (error) {
      if (error instanceof SourceFailed && error.code === "ref_not_found") return ""
      throw error
    }
  }

  /** A page for people is read by git as a repository without refs, and may be gone in a minute. */
  const refuseEmpty = async (location: GitLocation, signal: AbortSignal): Promise<void> => {
    const output = await list(location, [], signal).catch((error: unknown) => {
      if (error instanceof SomethingListed) return undefined
      throw error
    })
    if (output === "") throw nothingListed(location.repoUrl)
  }

  const resolve = async (location: GitLocation, signal: AbortSignal): Promise<string> => {
    const ref = refOf(location)
    if (ref.kind === "sha") return ref.sha
    const sha = commitOf(await list(location, ref.candidates, signal), ref.candidates)
    if (sha) return sha
    await refuseEmpty(location, signal)
    throw refNotFound(location.repoUrl, location.ref)
  }

  const heads: GitSource["heads"] = async (location, refs, signal) => {
    refuseOption(location.repoUrl)
    const named = { ...location, ref: refs.join(", ") }
    const output = await list(named, refs, signal)
    if (output === "") await refuseEmpty(named, signal)
    const found = refs.map((ref) => [ref, commitOf(output, [ref])] as const)
    return new Map(found.filter((it): it is readonly [string, string] => it[1] !== undefined))
  }

  const fetch = async (location: GitLocation, sha: string, folder: string, signal: AbortSignal) => {
    const partial = `${folder}.partial`
    await rm(partial, { recursive: true, force: true })
    await rm(folder, { recursive: true, force: true })
    await mkdir(partial, { recursive: true })
    const room = diskRoom(partial, limits, signal)
    const run = (...args: string[]) => git(location, args, room.signal, { folder: partial })
    try {
      await run("init", "--quiet")
      await fetchCommit(location, sha, run)
      const meter = treeMeter()
      const onOutput = (chunk: Buffer) => room.refuse(meter.add(chunk))
      // A branch that was fetched by its name may not contain the commit any more.
      await git({ ...location, ref: sha }, listArguments(sha), room.signal, { folder: partial, onOutput })
      await run("checkout", "--quiet", "--detach", sha)
      await room.check()
      const tree = await describe(run)
      const notes = await absentContent(partial, meter)
      await rm(join(partial, ".git"), { recursive: true, force: true })
      await rename(partial, folder)
      return { ...tree, notes }
    } catch (error) {
      await removeTree(partial)
      throw error
    } finally {
      room.leave()
    }
  }
  return { resolve, fetch, heads }
}

/** The listing was ended since it has a ref. */
class SomethingListed extends Error {}

// Some lines for each name that is asked for: what is more was not asked.
const mostListedBytes = 1024 * 1024

const megabyte = 1024 * 1024

/**
 * Bounds what git writes into a folder. Git itself has no limit for what it fetches, and a pack says little about the size of the files
 * in it.
 */
function diskRoom(folder: string, { entries, bytes }: SourceLimits, outer: AbortSignal) {
  const over = new AbortController()
  const ended = new AbortController()
  const refuse = (what: string) => over.abort(new SourceFailed("source_too_big", `the repository ${what}`))
  const tooLarge = () => refuse(`needs more than ${Math.floor(bytes / megabyte)} MB of disk, with its files`)
  const mostMb = bytes / megabyte
  untilDiskExceeds([folder], mostMb, ended.signal).then(
    (usedMb) => usedMb !== undefined && tooLarge(),
    // Without a measurement there would be no limit.
    (error: unknown) => over.abort(error),
  )
  return {
    /** Aborted with a `SourceFailed` when there is no more room. */
    signal: AbortSignal.any([outer, over.signal]),
    /** Measures now: a fast fetch may end between two measurements. @throws SourceFailed */
    async check(): Promise<void> {
      if ((await usedDiskMb([folder])) > mostMb) tooLarge()
      over.signal.throwIfAborted()
    },
    /** Ends the fetch when the commit is beyond a limit. */
    refuse(commit: { readonly entries: number; readonly bytes: number }): void {
      if (commit.entries > entries) refuse(`has more than ${entries} files and folders`)
      if (commit.bytes > bytes) tooLarge()
    },
    leave: () => ended.abort(),
  }
}

/** Credentials for another host are not used. */
const applicable = ({ repoUrl, credentials }: GitLocation): GitCredentials | undefined =>
  credentials && credentialsApply(repoUrl, credentials) ? credentials : undefined

function hideToken(text: string, credentials: GitCredentials | undefined): string {
  if (credentials?.kind !== "token") return text
  return text.replaceAll(basicOf(credentials), "[hidden]").replaceAll(credentials.token.reveal(), "[hidden]")
}

type RunGit = (...args: string[]) => Promise<string>

/** A server may refuse to fetch a bare commit id; then the named ref is fetched and must contain it. */
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

const longestAuthor = 100
const longestMessage = 500

async function describe(run: RunGit): Promise<FetchedTree> {
  // What has any length comes last: output is cut. Git ends names and messages at a NUL, so none of them contains one.
  const shown = await run("show", "--no-patch", "--format=%H%x00%T%x00%an%x00%s", "HEAD")
  const [sha = "", treeHash = "", author = "", message = ""] = shown.split("\0")
  return {
    treeHash,
    commit: { sha, message: shownLine(message, longestMessage), author: shownLine(author, longestAuthor) },
  }
}

function refOf({ repoUrl, ref }: GitLocation): Ref {
  refuseOption(repoUrl)
  const parsed = parseRef(ref)
  if (!parsed) throw new SourceFailed("ref_not_found", `"${ref}" cannot be the name of a branch, tag or commit`)
  return parsed
}

function refuseOption(repoUrl: string): void {
  if (!repoUrl.startsWith("-")) return
  throw new SourceFailed("source_not_found", `${repoUrl} is not the address of a repository`)
}
