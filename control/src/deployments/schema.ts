/** What the requests and replies of deployments look like. Both spellings of the config path become one here. */
import { z } from "@hono/zod-openapi"
import { commandProblem } from "../builders/command-problem.js"
import { commaSeparated, optionalParameter, storageProblem, text, trueOrFalse, uuid } from "../http/fields.js"
import { pageQuery } from "../http/page.js"
import { sourceRevisionConfigReply } from "../revisions/schema.js"
import { deploymentStatuses, deploymentTypes, sources } from "./deployment.js"
import { configPathProblem, imageUriProblem, refProblem } from "./repository.js"

const checked = (problemOf: (value: string) => string | undefined) =>
  z.string().superRefine((value, ctx) => {
    const problem = storageProblem(value) ?? problemOf(value)
    if (problem) ctx.addIssue({ code: "custom", message: problem })
  })

const count = z.int().min(0).nullish()
const number = z.number().min(0).nullish()
const resourceSpec = z
  .looseObject({
    min_scale: count,
    max_scale: count,
    cpu: z.number().min(0.1).max(8).nullish(),
    cpu_limit: z.number().min(0.1).max(16).nullish(),
    memory_mb: number,
    memory_limit_mb: number,
  })
  .superRefine((value, ctx) => {
    const problem = storageProblem(value)
    if (problem) ctx.addIssue({ code: "custom", message: problem })
  })

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
}

const sourceRevisionConfigFields = {
  repo_ref: checked(refProblem).nullish(),
  langgraph_config_path: checked(configPathProblem).nullish(),
  graph_config_path: checked(configPathProblem)
    .nullish()
    .openapi({ description: "another spelling of langgraph_config_path" }),
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

const secret = z.object({
  name: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,254}$/, "expected the name of an environment variable"),
  value: text.max(maxSecretLength),
})

const secretReferences = z
  .array(z.unknown())
  .max(0, "names Secrets of Kubernetes, which this installation does not run on: send the values as secrets")

const sharedFields = {
  source_config: z.object(sourceConfigFields).nullish(),
  source_revision_config: sourceRevisionConfig.nullish(),
  secrets: z.array(secret).max(500).nullish(),
  secret_references: secretReferences.nullish(),
}

/** Lower-case letters, digits and dashes; it starts with a letter and is part of a public URL (CP-D2). */
const deploymentName = z
  .string()
  .regex(
    /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/,
    "expected at most 63 lower-case letters, digits and dashes, a letter first and no dash last",
  )

export const createFields = { name: deploymentName, source: z.enum(sources), ...sharedFields }
export const createBody = z.object(createFields)

export const patchFields = {
  ...sharedFields,
  display_name: text.min(1).max(255).nullish(),
  revision_source: z.enum(["internal_docker", "internal_source"]).nullish(),
  tracked_packages: z.array(z.string()).nullish(),
}
export const patchBody = z.object(patchFields)

export const listQuery = z.object({
  ...pageQuery,
  name: optionalParameter(text),
  name_contains: optionalParameter(text),
  status: optionalParameter(z.enum(deploymentStatuses)),
  deployment_type: optionalParameter(z.enum(deploymentTypes)),
  deployment_ids: optionalParameter(commaSeparated.pipe(z.array(uuid))).openapi({ description: "ids with commas" }),
  image_version: optionalParameter(text),
  remote_reconciled: optionalParameter(trueOrFalse),
  tag_value_ids: optionalParameter(commaSeparated).openapi({ description: "ids with commas" }),
})

export const deleteQuery = z.object({
  delete_tracing_project: optionalParameter(trueOrFalse),
  force: optionalParameter(trueOrFalse).openapi({ description: "only for one that is being deleted already" }),
})

const nullableText = z.string().nullable()

const sourceConfigReply = z.object({
  integration_id: nullableText,
  repo_url: nullableText,
  repo_branch: nullableText.openapi({ description: "the branch as configured" }),
  deployment_type: z.enum(deploymentTypes).nullable(),
  build_on_push: z.boolean().nullable(),
  custom_url: z.string().openapi({ description: "where the deployment answers" }),
  resource_spec: z.record(z.string(), z.unknown()).nullable(),
  listener_id: nullableText,
  listener_config: z.object({ k8s_namespace: nullableText }).nullable(),
  install_command: nullableText,
  build_command: nullableText,
  template_id: nullableText,
})

export const deploymentReply = z
  .object({
    id: z.string(),
    tenant_id: z.string(),
    name: z.string(),
    display_name: nullableText,
    source: z.enum(sources),
    source_config: sourceConfigReply,
    source_revision_config: sourceRevisionConfigReply,
    secrets: z.array(z.object({ name: z.string(), value: z.string() })),
    secret_references: z.array(z.unknown()),
    status: z.enum(deploymentStatuses),
    latest_revision_id: nullableText,
    active_revision_id: nullableText,
    image_version: nullableText,
    is_preview: z.boolean(),
    agent_id: nullableText,
    agent_environment: nullableText,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .openapi("Deployment")
