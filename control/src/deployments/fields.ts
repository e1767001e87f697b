/** The fields that requests for deployments and revisions share. Merges the two spellings of the config path. */
import { z } from "@hono/zod-openapi"
import { commandProblem } from "@superstep/builder/command-problem"
import { shownLine } from "@superstep/toolkit/text/shown-line"
import { storageProblem, text, uuid } from "../http/fields.js"
import { resourceSpec } from "../revisions/resource-spec.js"
import { deploymentTypes, orphanRules, threadPinnings } from "../revisions/source-config.js"
import { configPathProblem, imageUriProblem, refProblem } from "./repository.js"
import { secretsModes } from "./secret-changes.js"
import { watchPathProblem } from "./watch-paths.js"

const checked = (problemOf: (value: string) => string | undefined) =>
  z.string().superRefine((value, ctx) => {
    const problem = storageProblem(value) ?? problemOf(value)
    if (problem) ctx.addIssue({ code: "custom", message: problem })
  })

export const configPath = checked(configPathProblem)

// Only addresses for browsers: it is shown as the deployment's URL.
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
    description: "build only pushes that change one of these files, folders or patterns; empty: every push",
  }),
  thread_pinning: z.enum(threadPinnings).nullish().openapi({
    description:
      "which threads stay on their revision when another one takes over: none; paused (default): those that are busy or interrupted, until they are idle; always: each thread, on the revision of its first run",
  }),
  max_pin_age_days: z.int().min(1).max(3650).nullish().openapi({
    description: "for how many days a former revision keeps its threads; 30 by default",
  }),
  on_orphaned_threads: z.enum(orphanRules).nullish().openapi({
    description:
      "when a new revision could not go on with paused threads, since the node or graph that they wait in is gone: warn (the default) in the deploy log; pin: they stay on the revision before, whatever thread_pinning says; fail: the new revision fails",
  }),
  canary_weight: z.int().min(1).max(99).nullish().openapi({
    description:
      "the percentage of the threads that a new revision gets beside the one that serves, until it is promoted or aborted; unset: a new revision takes over at once",
  }),
  rollback_on: z
    .object({ min_runs: z.int().min(5).max(100_000).default(20) })
    .nullish()
    .openapi({
      description:
        "a canary is aborted when its runs fail more often than those of the revision that serves: when chance alone would give such counts less than once in 10,000 times (Fisher's exact test), and it has ended min_runs; unset: only crashes abort it",
    }),
}

// People read them beside other words. They come from strangers, and no deploy fails for them: they are cleaned and cut.
const longestLine = 500
const line = z.string().transform((value) => shownLine(value, longestLine))

/** What the caller says about a revision. */
export const message = line
  .transform((value) => value || null)
  .nullish()
  .openapi({ description: "what the revision that this creates is for; kept as one line of at most 500 characters" })

const commit = z
  .object({
    sha: z.string().regex(/^[0-9a-f]{7,64}$/, "expected the hexadecimal id of a commit"),
    message: line.nullish(),
    author: line.nullish(),
    branch: line.nullish(),
    is_dirty: z.boolean().nullish(),
  })
  .transform((it) => ({
    sha: it.sha,
    message: it.message ?? "",
    author: it.author ?? "",
    branch: it.branch || null,
    is_dirty: it.is_dirty ?? false,
  }))

const sourceRevisionConfigFields = {
  repo_ref: checked(refProblem).nullish(),
  langgraph_config_path: configPath.nullish(),
  graph_config_path: configPath.nullish().openapi({ description: "another spelling of langgraph_config_path" }),
  image_uri: checked(imageUriProblem).nullish(),
  source_tarball_path: text.nullish(),
  commit: commit.nullish().openapi({
    description:
      "the commit that source_tarball_path or image_uri was made from: its id, the first line of its message, the author's name, the branch, and whether there were changes beside it; that of a repository is read from there",
  }),
}

const sourceRevisionConfig = z
  .object(sourceRevisionConfigFields)
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
  .openapi({ description: "the complete set; a null value removes that name and keeps the others; [] changes nothing" })

const secretReferences = z
  .array(z.unknown())
  .max(0, "refers to Kubernetes Secrets, which this installation does not have: send the values as secrets")

/** The fields that a new deployment and a change share. */
export const configFields = {
  source_config: z.object(sourceConfigFields).nullish(),
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
