/** The fields that requests for deployments and revisions share. Merges the two spellings of the config path. */
import { z } from "@hono/zod-openapi"
import { line, text } from "../http/fields.js"
import { inputsOf } from "../revisions/field.js"
import { sourceConfigFields } from "../revisions/source-config.js"
import { configPath, sourceRevisionConfigFields } from "../revisions/source-revision-config.js"
import { secretsModes } from "./secret-changes.js"

/** What the caller says about a revision. */
export const message = line
  .transform((value) => value || null)
  .nullish()
  .openapi({ description: "what the revision that this creates is for; kept as one line of at most 500 characters" })

const sourceRevisionConfigInputs = {
  ...inputsOf(sourceRevisionConfigFields),
  graph_config_path: configPath.nullish().openapi({ description: "another spelling of langgraph_config_path" }),
}

const sourceRevisionConfig = z
  .object(sourceRevisionConfigInputs)
  .superRefine((config, ctx) => {
    const { langgraph_config_path: one, graph_config_path: other, commit, source_tarball_path, image_uri } = config
    if (one && other && one !== other) {
      const message = `differs from langgraph_config_path (${one}): send one of the two`
      ctx.addIssue({ code: "custom", path: ["graph_config_path"], message })
    }
    if (commit && !source_tarball_path && !image_uri) {
      const message = "describes source_tarball_path or image_uri: send it with one of them"
      ctx.addIssue({ code: "custom", path: ["commit"], message })
    }
  })
  .transform(({ graph_config_path, ...config }) => ({
    ...config,
    langgraph_config_path: config.langgraph_config_path ?? graph_config_path,
  }))

/** The names of the fields inside the two configs, to report which ones were ignored. */
export const knownParts = {
  source_config: Object.keys(sourceConfigFields),
  source_revision_config: Object.keys(sourceRevisionConfigInputs),
}

// Linux refuses a longer variable when a process starts (MAX_ARG_STRLEN is 128 KiB, name included).
const maxSecretLength = 100_000

export const secretName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,254}$/, "expected the name of an environment variable")
export const secretValue = text.max(maxSecretLength)
const maxSecrets = 500

export const secrets = z.array(z.object({ name: secretName, value: secretValue })).max(maxSecrets)

const secretChanges = z
  .array(z.object({ name: secretName, value: secretValue.nullable() }))
  .max(maxSecrets)
  .openapi({ description: "the complete set; a null value removes that name and keeps the others; [] changes nothing" })

const secretReferences = z
  .array(z.unknown())
  .max(0, "refers to Kubernetes Secrets, which this installation does not have: send the values as secrets")

/** The fields that a new deployment and a change share. */
export const configFields = {
  source_config: z.object(inputsOf(sourceConfigFields)).nullish(),
  source_revision_config: sourceRevisionConfig.nullish(),
  secret_references: secretReferences.nullish(),
  message,
}

/** The fields of a change: a PATCH, and a requested revision. */
export const changeFields = {
  ...configFields,
  secrets: secretChanges.nullish(),
  secrets_mode: z.enum(secretsModes).nullish().openapi({
    description:
      "replace: the list is the complete set, even if it is empty; merge: secrets that are not in the list stay",
  }),
}
