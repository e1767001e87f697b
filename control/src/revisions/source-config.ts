/**
 * `source_config` in the API and in the tables: the settings of a deployment, which its revisions are made with. `sourceConfigFields`
 * is the one place that names all of them.
 */
import { z } from "@hono/zod-openapi"
import { commandProblem } from "@superstep/builder/command-problem"
import { checked, text, uuid } from "../http/fields.js"
import type { Field, ValuesOf } from "./field.js"
import { resourceSpec, resourceSpecReply } from "./resource-spec.js"
import { watchPathProblem } from "./watch-paths.js"

export const sources = ["github", "external_docker", "internal_docker", "internal_source", "internal_template"] as const
export type Source = (typeof sources)[number]

export const deploymentTypes = ["dev_free", "dev", "prod", "dev_zero", "dev_free_zero"] as const
export type DeploymentType = (typeof deploymentTypes)[number]

/**
 * Which threads stay on their revision after a switch. `none`: none. `paused`: those that are busy or interrupted at the
 * switch, until they are idle. `always`: each thread stays on the revision of its first run.
 */
export const threadPinnings = ["none", "paused", "always"] as const
export type ThreadPinning = (typeof threadPinnings)[number]
export const usualThreadPinning: ThreadPinning = "paused"
export const usualPinDays = 30

/**
 * What to do when a new revision could not go on with threads that are paused. `warn`: say how many. `pin`: they stay on the revision
 * before, also where `thread_pinning` is `none`. `fail`: the new revision fails, and nothing changes.
 */
export const orphanRules = ["warn", "pin", "fail"] as const
export type OrphanRule = (typeof orphanRules)[number]

// Only addresses for browsers: it is shown as the deployment's URL.
const webUrl = z.url({ protocol: /^https?$/, message: "expected an http or https URL" })
const seenUrl = z.string().describe("the address of the deployment; null until its listener has reported one")
const command = checked(commandProblem)
const string = z.string()
const int = z.int()
const bool = z.boolean()
const type = z.enum(deploymentTypes)

const k8s = <T extends z.ZodType>(name: T) => z.object({ k8s_namespace: name.nullable() })
const paths = z.array(checked(watchPathProblem)).max(50).openapi({
  description: "build only pushes that change one of these files, folders or patterns; empty: every push",
})
const pinning = z.enum(threadPinnings).openapi({
  description:
    "which threads stay on their revision when another one takes over: none; paused (default): those that are busy or interrupted, until they are idle; always: each thread, on the revision of its first run",
})
const pinDays = z.int().min(1).max(3650).openapi({
  description: "for how many days a former revision keeps its threads; 30 by default",
})
const orphanRule = z.enum(orphanRules).openapi({
  description:
    "when a new revision could not go on with paused threads, since the node or graph that they wait in is gone: warn (the default) in the deploy log; pin: they stay on the revision before, whatever thread_pinning says; fail: the new revision fails",
})
const percentage = z.int().min(1).max(99).openapi({
  description:
    "the percentage of the threads that a new revision gets beside the one that serves, until it is promoted or aborted; unset: a new revision takes over at once",
})
const minRuns = <T extends z.ZodType>(number: T) => z.object({ min_runs: number })
const rollback = minRuns(z.int().min(5).max(100_000).default(20)).describe(
  "a canary is aborted when its runs fail more often than those of the revision that serves: when chance alone would give such counts less than once in 10,000 times (Fisher's exact test), and it has ended min_runs; unset: only crashes abort it",
)

interface DeploymentField extends Field {
  /** A change can set it, or also unset it; or it is fixed at creation, and a change may only repeat its value. */
  readonly patch: "set" | "unset" | "fixed"
  /** A revision goes by the deployment's present value; or by its own, which a rollback brings back; or its artifact depends on it too. */
  readonly revision: "now" | "own" | "built"
}

// biome-ignore format: one line for each field, so that it can be read as a table
export const sourceConfigFields = {
  integration_id:      { input: uuid,         reply: string,                 patch: "fixed", revision: "now",   preview: "same",  listener: "same"  },
  repo_url:            { input: text,         reply: string,                 patch: "fixed", revision: "now",   preview: "same",  listener: "same"  },
  deployment_type:     { input: type,         reply: type,                   patch: "fixed", revision: "now",   preview: "same",  listener: "same"  },
  build_on_push:       { input: bool,         reply: bool,                   patch: "set",   revision: "now",   preview: "off",   listener: "off"   },
  custom_url:          { input: webUrl,       reply: seenUrl,                patch: "unset", revision: "now",   preview: "empty", listener: "same"  },
  resource_spec:       { input: resourceSpec, reply: resourceSpecReply,      patch: "set",   revision: "own",   preview: "same",  listener: "same"  },
  listener_id:         { input: uuid,         reply: string,                 patch: "fixed", revision: "now",   preview: "same",  listener: "empty" },
  listener_config:     { input: k8s(text),    reply: k8s(string),            patch: "fixed", revision: "now",   preview: "same",  listener: "empty" },
  install_command:     { input: command,      reply: string,                 patch: "set",   revision: "built", preview: "same",  listener: "same"  },
  build_command:       { input: command,      reply: string,                 patch: "set",   revision: "built", preview: "same",  listener: "same"  },
  template_id:         { input: text,         reply: string,                 patch: "fixed", revision: "now",   preview: "same",  listener: "same"  },
  watch_paths:         { input: paths,        reply: z.array(string),        patch: "set",   revision: "now",   preview: "same",  listener: "same"  },
  thread_pinning:      { input: pinning,      reply: z.enum(threadPinnings), patch: "set",   revision: "now",   preview: "same",  listener: "same"  },
  max_pin_age_days:    { input: pinDays,      reply: int,                    patch: "set",   revision: "now",   preview: "same",  listener: "same"  },
  on_orphaned_threads: { input: orphanRule,   reply: z.enum(orphanRules),    patch: "set",   revision: "now",   preview: "same",  listener: "same"  },
  canary_weight:       { input: percentage,   reply: int,                    patch: "unset", revision: "now",   preview: "empty", listener: "empty" },
  rollback_on:         { input: rollback,     reply: minRuns(int),           patch: "unset", revision: "now",   preview: "same",  listener: "same"  },
} satisfies Readonly<Record<string, DeploymentField>>

export type SourceConfig = ValuesOf<typeof sourceConfigFields>
export type ResourceSpec = NonNullable<SourceConfig["resource_spec"]>
