/** `source_revision_config` in the API and in the tables: what a revision is made from. The table names all of its fields. */
import { z } from "@hono/zod-openapi"
import { checked, line, text } from "../http/fields.js"
import type { Field, ValuesOf } from "./field.js"
import { configPathProblem, imageUriProblem, refProblem } from "./repository.js"

export const configPath = checked(configPathProblem)
const ref = checked(refProblem)
const image = checked(imageUriProblem)
const string = z.string()
const bool = z.boolean()

const commit = z
  .object({
    sha: z.string().regex(/^[0-9a-f]{7,64}$/, "expected the hexadecimal id of a commit"),
    message: line.nullish().transform((it) => it ?? ""),
    author: line.nullish().transform((it) => it ?? ""),
    branch: line.nullish().transform((it) => it || null),
    is_dirty: bool.nullish().transform((it) => it ?? false),
  })
  .describe(
    "the commit that source_tarball_path or image_uri was made from: its id, the first line of its message, the author's name, the branch, and whether there were changes beside it; that of a repository is read from there",
  )

interface RevisionField extends Field {
  /** The change that empties it, unless the change gives it a value: none; one that names a ref; one that names any code; each. */
  readonly emptied: "never" | "by_ref" | "by_code" | "always"
  /** Whether an artifact is reused only where it is the same. */
  readonly built: boolean
}

// biome-ignore format: one line for each field, so that it can be read as a table
export const sourceRevisionConfigFields = {
  repo_ref:              { input: ref,        reply: string, emptied: "never",   built: false, preview: "given", listener: "same"  },
  langgraph_config_path: { input: configPath, reply: string, emptied: "never",   built: true,  preview: "same",  listener: "same"  },
  image_uri:             { input: image,      reply: string, emptied: "by_ref",  built: false, preview: "empty", listener: "same"  },
  source_tarball_path:   { input: text,       reply: string, emptied: "by_ref",  built: false, preview: "empty", listener: "same"  },
  // The commit that a push or a repetition pins: the platform sets it.
  repo_commit_sha:       { input: null,       reply: string, emptied: "always",  built: false, preview: "given", listener: "given" },
  // That of an archive or an image, as its caller says; the revision's own `commit` shows it.
  commit:                { input: commit,     reply: null,   emptied: "by_code", built: false, preview: "empty", listener: "same"  },
} satisfies Readonly<Record<string, RevisionField>>

export type SourceRevisionConfig = ValuesOf<typeof sourceRevisionConfigFields>
