/**
 * What changed in the code from one revision to another, wherever it comes from. The code of both is fetched again, into a folder that is
 * removed with the reply (README.md, CC1 to CC5).
 */
import { randomUUID } from "node:crypto"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict, Unavailable } from "@superstep/toolkit/errors/errors"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { type CodeLookup, locate } from "../pipeline/locate.js"
import { hideOpenedSecretsOf } from "../planner/log-shipping.js"
import { findRevision } from "../revisions/operations.js"
import type { SeenRevision } from "../revisions/queries.js"
import { CannotOpen } from "../secrets/seal.js"
import { SourceFailed } from "../sources/port.js"
import { type SourceLimits, sourceLimits } from "../sources/source-limits.js"
import type { CodeChanges } from "./changed-file.js"
import { compareTrees, prepareWork } from "./compare-trees.js"
import { retryMs, Turns } from "./turns.js"

/** Less code than a revision may have: it is fetched twice, while someone waits. */
export const comparedLimits: SourceLimits = { ...sourceLimits, entries: 20_000, bytes: 256 * 1024 ** 2 }

export interface CodeChangesOptions extends CodeLookup {
  /** The folder for fetched code; only we may write to it. */
  readonly folder: string
  /** Where git is found: the `PATH` of the control plane. */
  readonly path: string
}

// Of both together, with the wait for others.
const limitMs = 60_000

export interface AskedChanges {
  readonly workspaceId: string
  readonly deploymentId: string
  readonly before: string
  readonly after: string
}

export type ReadCodeChanges = (db: Db, asked: AskedChanges, signal: AbortSignal) => Promise<CodeChanges>

/**
 * @returns  a function that reads the changes
 * @throws NotFound         the deployment has no such revision
 * @throws Conflict         the code of one of them is not there (any more), is too large to be compared, or its secrets cannot be opened
 * @throws TooManyRequests  too many comparisons wait
 * @throws Unavailable      its host, or the turn, did not come in time
 */
export function codeComparer(options: CodeChangesOptions): ReadCodeChanges {
  const turns = new Turns()
  return async (db, asked, signal) => {
    const revisions = await revisionsOf(db, asked)
    if (sameCode(revisions)) return { files: [], total: 0 }
    const late = AbortSignal.timeout(limitMs)
    const either = AbortSignal.any([signal, late])
    const work = () => compare(options, asked, revisions, either)
    try {
      return await turns.take(asked.workspaceId, either, work)
    } catch (cause) {
      if (!late.aborted || signal.aborted) throw cause
      const words = `the code was not compared within ${limitMs / 1000} s: retry later`
      throw new Unavailable(words, retryMs, { cause })
    }
  }
}

interface Pair {
  readonly before: SeenRevision
  readonly after: SeenRevision
}

async function revisionsOf(db: Db, { workspaceId, deploymentId, before, after }: AskedChanges): Promise<Pair> {
  const find = (revisionId: string) => findRevision(db, { workspaceId, deploymentId, revisionId })
  return { before: await find(before), after: await find(after) }
}

/** A commit of one repository, or one archive: nothing is fetched for it. Pure. */
const sameCode = ({ before, after }: Pair): boolean =>
  before.commit_sha !== null &&
  before.commit_sha === after.commit_sha &&
  before.source === after.source &&
  before.source_config.repo_url === after.source_config.repo_url

async function compare(
  options: CodeChangesOptions,
  { workspaceId }: AskedChanges,
  { before, after }: Pair,
  signal: AbortSignal,
): Promise<CodeChanges> {
  const work = join(options.folder, randomUUID())
  const fetchOne = async (revision: SeenRevision, name: string) => {
    const folder = join(work, name)
    const { commit_sha, source } = revision
    // An archive is the same later; a branch is not.
    if (commit_sha === null && source !== "internal_source")
      throw unavailable("a revision that was not fetched has no code")
    const code = await locate({ context: options, revision, deployment: { workspace_id: workspaceId } })
    await code.fetch(commit_sha ?? (await code.resolve(signal)), folder, signal)
    return folder
  }
  try {
    await mkdir(work, { recursive: true, mode: 0o700 })
    const copies = join(work, "shown")
    await prepareWork(copies)
    const [hideOne, hideOther] = [await hideOpenedSecretsOf(options, before), await hideOpenedSecretsOf(options, after)]
    return await compareTrees({
      before: await fetchOne(before, "one"),
      after: await fetchOne(after, "other"),
      work: copies,
      hide: (text) => hideOther(hideOne(text)),
      signal,
      path: options.path,
    })
  } catch (error) {
    if (error instanceof CannotOpen)
      throw unavailable(
        "its secrets cannot be hidden, since they were sealed with another master key: compare revisions that were made since",
      )
    if (!(error instanceof SourceFailed)) throw error
    if (error.isTransient) throw new Unavailable(error.message, retryMs, { cause: error })
    throw unavailable(error.message)
  } finally {
    await removeTree(work)
  }
}

const unavailable = (why: string): Conflict =>
  new Conflict(`the code cannot be compared: ${why}`, "code_not_comparable")
