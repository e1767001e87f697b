/** The fields that requests for deployments and revisions share. Both spellings of the config path become one here. */
import { z } from "@hono/zod-openapi"
import { commandProblem } from "../builders/command-problem.js"
import { storageProblem, text, uuid } from "../http/fields.js"
import { watchPathProblem } from "../pushes/watch-paths.js"
import { deploymentTypes } from "./deployment.js"
import { configPathProblem, imageUriProblem, refProblem } from "./repository.js"
import { resourceSpec } from "./resource-spec.js"
import { secretsModes } from "./secret-changes.js"

const checked = (problemOf: (value: string) => string | undefined) =>
  z.string().superRefine((value, ctx) => {
    const problem = storageProblem(value) ?? problemOf(value)
    if (problem) ctx.addIssue({ code: "custom", message: problem })
  })

export const configPath = checked(configPathProblem)

// Only an address that a browser opens: it is shown to people as the deployment's URL.
const webUrl = z.url({ protocol: /^https?$/, message: "expected an http or https URL" })

const sourceConfigFields = {
  integration_id: uuid.nullish(),
  repo_url: text.nullish(),
  deployment_type: z.enum(deploymentTypes).nullish(),
  build_on_push: z.boolean().nullish(),
  custom_url: webUrl.nullish(),
  resource_spec: resourceSpec.nullish(),
  listener_id: uuid.nullish(),
  listener_config: z.object({ k8s_namespace: text.nullable() }).nullish(),
  install_command: checked(commandProblem).nullish(),
  build_command: checked(commandProblem).nullish(),
  template_id: text.nullish(),
  watch_paths: z.array(checked(watchPathProblem)).max(50).nullish().openapi({
    description: "a push is built when it touches one of these files, folders or patterns; empty: any",
  }),
}

const sourceRevisionConfigFields = {
  repo_ref: checked(refProblem).nullish(),
  langgraph_config_path: configPath.nullish(),
  graph_config_path: configPath.nullish().openapi({ description: "another spelling of langgraph_config_path" }),
  image_uri: checked(imageUriProblem).nullish(),
  source_tarball_path: text.nullish(),
}

const sourceRevisionConfig = z
  .object(sourceRevisionConfigFields)
  .superRefine(({ langgraph_config_path: one, graph_config_path: other }, ctx) => {
    if (one && other && one !== other) {
      const message = `differs from langgraph_config_path (${one}): send one of the two`
      ctx.addIssue({ code: "custom", path: ["graph_config_path"], message })
    }
  })
  .transform(({ graph_config_path, ...config }) => ({
    ...config,
    langgraph_config_path: config.langgraph_config_path ?? graph_config_path,
  }))

/** The names of the fields inside the two configs, for telling which were ignored. */
export const knownParts = {
  source_config: Object.keys(sourceConfigFields),
  source_revision_config: Object.keys(sourceRevisionConfigFields),
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
  .openapi({ description: "the whole set; null takes a name away and leaves the others; [] changes nothing" })

const secretReferences = z
  .array(z.unknown())
  .max(0, "names Secrets of Kubernetes, which this installation does not run on: send the values as secrets")

/** What a new deployment and a change of one may say alike. */
export const configFields = {
  source_config: z.object(sourceConfigFields).nullish(),
  source_revision_config: sourceRevisionConfig.nullish(),
  secret_references: secretReferences.nullish(),
}

/** What a change may say: a PATCH, and a revision that is asked for. */
export const changeFields = {
  ...configFields,
  secrets: secretChanges.nullish(),
  secrets_mode: z
    .enum(secretsModes)
    .nullish()
    .openapi({ description: "replace: the list is exact, also an empty one; merge: what it does not name stays" }),
}
