/** What differs between two revisions of a deployment. Pure. */
import { sizeText } from "../frame/time-text.js"
import type { Revision } from "../platform/types.js"

export interface Difference {
  readonly what: string
  readonly before: string
  readonly after: string
}

/** @returns  the one before it; undefined if either is not among these, the newest first */
export function revisionBefore<One extends { readonly id: string }>(all: readonly One[], id: string): One | undefined {
  const position = all.findIndex((one) => one.id === id)
  return position < 0 ? undefined : all[position + 1]
}

type Compared = Pick<
  Revision,
  "commit" | "upload" | "source" | "source_revision_config" | "resource_spec" | "secrets_version" | "secret_names"
>

/** Everything that decides what a revision runs, in the order in which one asks for it. */
export function differences(before: Compared, after: Compared): Difference[] {
  return partsOf(before)
    .map(([what, text], index) => ({ what, before: text, after: partsOf(after)[index]?.[1] ?? "" }))
    .concat(resources(before, after))
    .filter((it) => it.before !== it.after)
}

/** Without the time: the CLI packs the same code into the same archive, and a repeated upload of it changes nothing. */
const uploadText = ({ sha256, size_bytes }: NonNullable<Revision["upload"]>): string =>
  `archive ${shortHash(sha256)}, ${sizeText(size_bytes)}`

export const shortHash = (sha256: string): string => sha256.slice(0, 7)

/** Whether the uploaded code is another one than that of the revision before. */
export const isNewUpload = (
  revision: Pick<Revision, "upload">,
  before: Pick<Revision, "upload"> | undefined,
): boolean => revision.upload !== null && revision.upload.uploaded_at !== before?.upload?.uploaded_at

const commitText = ({ sha, message, author, is_dirty }: NonNullable<Revision["commit"]>): string =>
  `${sha.slice(0, 7)} ${message} (${author})${is_dirty ? ", with changes" : ""}`

const partsOf = (revision: Compared): (readonly [string, string])[] => {
  const { commit, upload, source, source_revision_config: config, secrets_version, secret_names } = revision
  return [
    ["Commit", commit ? commitText(commit) : "none"],
    ["Code", upload ? uploadText(upload) : "from the source below"],
    ["Source", source],
    ["Branch, tag or commit", config.repo_ref ?? "none"],
    ["Configuration", config.langgraph_config_path ?? "none"],
    ["Image", config.image_uri ?? "none"],
    ["Version of the secrets", String(secrets_version)],
    ["Names of the secrets", secret_names.join(", ") || "none"],
  ]
}

function resources(before: Compared, after: Compared): Difference[] {
  const [one, other] = [before.resource_spec ?? {}, after.resource_spec ?? {}]
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort()
  const textOf = (value: unknown) => (value === undefined || value === null ? "default" : JSON.stringify(value))
  return names.map((name) => ({ what: `Resource ${name}`, before: textOf(one[name]), after: textOf(other[name]) }))
}
