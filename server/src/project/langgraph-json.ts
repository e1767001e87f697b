/**
 * The schema of `langgraph.json` (agent-server-api §17). Objects are open: an unknown key is a warning, not an error.
 * `fields.ts` describes what each field does.
 */
import { jsonObject } from "@superstep/toolkit/http/json-object"
import { z } from "zod"
import { languageOf } from "../workers/languages.js"

const patterns = z.array(z.string()).nullish()

/** `http.configurable_headers` and `http.logging_headers`; `include` and `exclude` are older names. */
const headerRule = z.looseObject({
  includes: patterns,
  excludes: patterns,
  include: patterns,
  exclude: patterns,
})

export type HeaderRule = z.output<typeof headerRule>

const graphPath = z.string().regex(/^.+:[^:/\\]+$/, "expected path:export, such as ./src/graph.ts:graph")

// The export may be omitted for code that a project has only one of: then it is the default export.
const codePath = z
  .string()
  .regex(/^.+\.[cm]?[jt]sx?(:[^:/\\]+)?$|^.+:[^:/\\]+$/, "expected path:export, such as ./src/auth.ts:auth")

const originPattern = z.string().refine((text) => {
  try {
    return new RegExp(text) instanceof RegExp
  } catch {
    // A SyntaxError means that the text is not a pattern.
    return false
  }
}, "expected a regular expression, such as https://.*\\.example\\.com")

const cors = z.looseObject({
  allow_origins: z.array(z.string()).optional(),
  allow_origin_regex: originPattern.optional(),
  allow_methods: z.array(z.string()).optional(),
  allow_headers: z.array(z.string()).optional(),
  allow_credentials: z.boolean().optional(),
  expose_headers: z.array(z.string()).optional(),
  max_age: z.int().min(0).optional(),
})

const http = z.looseObject({
  app: codePath.optional(),
  cors: cors.optional(),
  configurable_headers: headerRule.optional(),
  "configurable-headers": headerRule.optional(),
  logging_headers: headerRule.optional(),
  "logging-headers": headerRule.optional(),
  disable_assistants: z.boolean().optional(),
  disable_threads: z.boolean().optional(),
  disable_runs: z.boolean().optional(),
  disable_store: z.boolean().optional(),
  disable_meta: z.boolean().optional(),
  disable_ui: z.boolean().optional(),
  disable_mcp: z.boolean().optional(),
  disable_a2a: z.boolean().optional(),
  disable_webhooks: z.boolean().optional(),
  enable_custom_route_auth: z.boolean().optional(),
  middleware_order: z.enum(["auth_first", "middleware_first"]).optional(),
  mount_prefix: z
    .string()
    .regex(/^(\/[\w.~-]+)*\/?$/, "expected a path of plain segments that begins with /, such as /agents")
    .optional(),
})

// The same maximum as for a put of one item (store/schema.ts).
const maxItemMinutes = 1e9

const store = z.looseObject({
  index: z
    .looseObject({
      // The maximum of pgvector.
      dims: z.int().positive().max(16_000),
      embed: z.string().regex(/^.+:.+$/, "expected file:function or provider:model"),
      // The path is part of the key of each vector, so its length is limited.
      fields: z.array(z.string().min(1).max(200)).optional(),
    })
    .optional(),
  ttl: z
    .looseObject({
      refresh_on_read: z.boolean().optional(),
      default_ttl: z.number().positive().max(maxItemMinutes).nullish(),
      sweep_interval_minutes: z.number().positive().nullish(),
    })
    .optional(),
})

// A hundred years in minutes. With more, the expiry date of a thread would exceed the range of Postgres' timestamps.
const maxThreadMinutes = 52_560_000

const checkpointer = z.looseObject({
  backend: z.enum(["default", "mongo", "custom"]).optional(),
  path: z.string().optional(),
  ttl: z
    .looseObject({
      strategy: z.enum(["delete", "keep_latest"]).optional(),
      default_ttl: z.number().positive().max(maxThreadMinutes).nullish(),
      sweep_interval_minutes: z.number().positive().nullish(),
      sweep_limit: z.int().positive().optional(),
    })
    .optional(),
  serde: jsonObject.optional(),
})

const auth = z.looseObject({
  path: codePath.optional(),
  disable_studio_auth: z.boolean().optional(),
  openapi: z
    .looseObject({
      securitySchemes: jsonObject.optional(),
      security: z.array(jsonObject).optional(),
      paths: jsonObject.optional(),
    })
    .optional(),
  cache: z
    .looseObject({
      cache_keys: z.array(z.string()).optional(),
      ttl_seconds: z.number().positive().optional(),
      max_size: z.int().positive().optional(),
    })
    .optional(),
  allow_langsmith_api_keys: z.boolean().optional(),
})

const webhooks = z.looseObject({
  env_prefix: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  url: z
    .looseObject({
      allowed_domains: z.array(z.string()).optional(),
      allowed_ports: z.array(z.int()).optional(),
      require_https: z.boolean().optional(),
      disable_loopback: z.boolean().optional(),
      max_url_length: z.int().positive().optional(),
    })
    .optional(),
})

// Node versions are often written as numbers.
const nodeVersion = z
  .union([z.string(), z.number()])
  .transform(String)
  .pipe(z.string().regex(/^\d+$/, "expected a major version, such as 20"))

const fields = z.looseObject({
  graphs: z
    .record(
      z.string(),
      z.union([graphPath, z.looseObject({ path: graphPath, description: z.string().optional() })], {
        error: "expected path:export, or an object with such a path",
      }),
    )
    .refine((graphs) => Object.keys(graphs).length > 0, "expected at least one graph"),
  env: z
    .union([z.string(), z.array(z.string()), z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))], {
      error: "expected an object of values, the path of a .env file or a list of names",
    })
    .optional(),
  dependencies: z.array(z.string()).optional(),
  node_version: nodeVersion.optional(),
  python_version: z.string().optional(),
  http: http.optional(),
  store: store.optional(),
  checkpointer: checkpointer.optional(),
  auth: auth.optional(),
  webhooks: webhooks.optional(),
  encryption: z.looseObject({ path: z.string() }).optional(),
  ui: z.record(z.string(), z.string()).optional(),
  ui_config: z.looseObject({ shared: z.array(z.string()).optional() }).optional(),
  api_version: z.string().optional(),
  base_image: z.string().optional(),
  image_distro: z.string().optional(),
  dockerfile_lines: z.array(z.string()).optional(),
  docker_compose_file: z.string().optional(),
  node_loader: z.string().optional(),
  pip_config_file: z.string().optional(),
  pip_installer: z.enum(["auto", "pip", "uv"]).optional(),
  keep_pkg_tools: z.union([z.boolean(), z.array(z.string())]).optional(),
  source: jsonObject.optional(),
  $schema: z.string().optional(),
})

// Both run in one process.
const gateInOneLanguage = ({ auth, http }: z.output<typeof fields>): boolean =>
  auth?.path === undefined || http?.app === undefined || languageOf(auth.path) === languageOf(http.app)

export const langgraphConfig = fields.refine(gateInOneLanguage, {
  path: ["http", "app"],
  error: "expected the language of auth.path: both run in one process, so write both in TypeScript or both in Python",
})

export type LanggraphJson = z.output<typeof langgraphConfig>
