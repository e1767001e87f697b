/**
 * All fields of `langgraph.json`: what each one does, or why it has no effect. A project that sets a field without effect
 * gets a warning at startup. docs/langgraph-json.md is generated from this table.
 */

export interface Field {
  /** From the root of the file; `*` stands for any key. */
  readonly path: string
  /** What it does, in one sentence. */
  readonly what: string
  /** Why it has no effect, as the end of a warning. */
  readonly ignored?: string
}

const noImage = "this has no effect: no container image is built; the project runs as processes on this machine"

export const fields: readonly Field[] = [
  {
    path: "graphs",
    what: "The graphs by id: `path:export`, or an object. At least one. If some do not load, `superstep serve` serves the others and names these in `/info` (`metadata.failed_graphs`); if none loads, it exits with the reason.",
  },
  {
    path: "graphs.*.path",
    what: "`./src/graph.ts:graph`, `./graph.py:graph` or `package.module:graph`: a compiled graph, a builder or a factory.",
  },
  { path: "graphs.*.description", what: "What the graph is for, in one sentence; shown by assistants and tools." },
  {
    path: "env",
    what: "Environment variables of the graphs: an object, the path of a `.env` file, or a list of names to copy. Builds reject names that start with `SUPERSTEP_`.",
  },
  {
    path: "dependencies",
    what: "Python packages and folders. Node packages are read from `package.json` and its lock file.",
  },
  {
    path: "node_version",
    what: "Major version of Node with which a deployment is built and run; without it the newest that `engines.node` allows.",
  },
  {
    path: "python_version",
    what: "Version of Python with which a deployment is built and run. `superstep dev` uses the project's `.venv` or `SUPERSTEP_PYTHON`.",
  },
  { path: "http", what: "HTTP settings of the server." },
  {
    path: "http.app",
    what: "`path:export` of a Hono app, of anything with a `fetch`, or of an ASGI app in Python (FastAPI, Starlette): it handles requests before the server's routes.",
  },
  { path: "http.cors", what: "Cross-origin access (CORS) for web pages." },
  {
    path: "http.cors.allow_origins",
    what: "Origins whose pages may send requests; `*` allows all. Default: `CORS_ALLOW_ORIGINS`, else all.",
  },
  {
    path: "http.cors.allow_origin_regex",
    what: "A regular expression that the whole origin must match, of at most 300 characters; used instead of the list.",
  },
  { path: "http.cors.allow_methods", what: "Methods that preflights allow; all by default." },
  { path: "http.cors.allow_headers", what: "Headers that preflights allow; by default all requested ones." },
  { path: "http.cors.allow_credentials", what: "Whether a page may send cookies; never when all origins are allowed." },
  {
    path: "http.cors.expose_headers",
    what: "Response headers that a page may read, in addition to those that the SDKs need.",
  },
  { path: "http.cors.max_age", what: "How long a browser may cache a preflight, in seconds." },
  {
    path: "http.configurable_headers",
    what: "Request headers that graphs receive as `config.configurable`; none by default.",
  },
  ...headerFields("http.configurable_headers"),
  { path: "http.configurable-headers", what: "Older name of `http.configurable_headers`." },
  ...headerFields("http.configurable-headers"),
  { path: "http.logging_headers", what: "Request headers that the log includes; none by default." },
  ...headerFields("http.logging_headers"),
  { path: "http.logging-headers", what: "Older name of `http.logging_headers`." },
  ...headerFields("http.logging-headers"),
  { path: "http.disable_assistants", what: "`true` disables `/assistants`." },
  { path: "http.disable_threads", what: "`true` disables `/threads`, but not runs on threads." },
  { path: "http.disable_runs", what: "`true` disables runs, crons, and the commands and streams of threads." },
  { path: "http.disable_store", what: "`true` disables `/store`. Graphs can still use the store." },
  {
    path: "http.disable_meta",
    what: "`true` disables `/`, `/info`, `/metrics`, `/docs` and `/openapi.json`, but not `/ok`.",
  },
  { path: "http.disable_ui", what: "`true` disables `/ui`." },
  { path: "http.disable_mcp", what: "`true` disables `/mcp`." },
  { path: "http.disable_a2a", what: "`true` disables `/a2a` and agent cards." },
  { path: "http.disable_webhooks", what: "`true` disables webhooks." },
  {
    path: "http.enable_custom_route_auth",
    what: "`true`: requests are authenticated before the app receives them. Default: only the server's own routes are authenticated.",
  },
  {
    path: "http.middleware_order",
    what: "`auth_first`: the same as `enable_custom_route_auth`. Default `middleware_first`: the app receives requests first.",
  },
  {
    path: "http.mount_prefix",
    what: "A path prefix of all routes, such as `/agents`, those of `http.app` too, which sees paths without it; `/ok` stays at the root. Default: `MOUNT_PREFIX`.",
  },
  { path: "store", what: "The long-term memory." },
  { path: "store.index", what: "Semantic search: a search with a `query` finds the items nearest in meaning." },
  { path: "store.index.dims", what: "Number of dimensions of an embedding." },
  {
    path: "store.index.embed",
    what: "`path:function` that turns texts into vectors, or `provider:model` of an installed LangChain package.",
  },
  { path: "store.index.fields", what: "Fields of a value that are embedded; by default `$`, the whole value." },
  { path: "store.ttl", what: "Expiry of items." },
  { path: "store.ttl.refresh_on_read", what: "Whether reading an item restarts its time to live; `true` by default." },
  { path: "store.ttl.default_ttl", what: "Time to live of items without their own, in minutes; unlimited by default." },
  {
    path: "store.ttl.sweep_interval_minutes",
    what: "How often expired items are deleted. Expired items are never returned.",
  },
  { path: "checkpointer", what: "The saved states of threads." },
  {
    path: "checkpointer.backend",
    what: "Where checkpoints are stored.",
    ignored: "this has no effect: checkpoints are stored in the server's Postgres",
  },
  {
    path: "checkpointer.path",
    what: "A custom checkpointer.",
    ignored: "this has no effect: checkpoints are stored in the server's Postgres",
  },
  { path: "checkpointer.ttl", what: "Expiry of new threads." },
  {
    path: "checkpointer.ttl.strategy",
    what: "`delete` the thread, or `keep_latest`: delete all checkpoints but the latest.",
  },
  {
    path: "checkpointer.ttl.default_ttl",
    what: "Time to live of threads without their own, in minutes; unlimited by default.",
  },
  {
    path: "checkpointer.ttl.sweep_interval_minutes",
    what: "How often expired threads are swept; 5 by default.",
  },
  { path: "checkpointer.ttl.sweep_limit", what: "Maximum number of threads per sweep; 1000 by default." },
  {
    path: "checkpointer.serde",
    what: "Types that may be unpickled.",
    ignored: "this has no effect: checkpoints are never pickled",
  },
  { path: "auth", what: "Authentication and authorization." },
  {
    path: "auth.path",
    what: "`path:export` of an `Auth` of `@langchain/langgraph-sdk/auth` or of Python's `langgraph_sdk`.",
  },
  { path: "auth.disable_studio_auth", what: "`true`: requests of Studio are authenticated in development, too." },
  { path: "auth.openapi", what: "Authentication in `/openapi.json`." },
  { path: "auth.openapi.securitySchemes", what: "The security schemes." },
  { path: "auth.openapi.security", what: "The security schemes that requests need." },
  { path: "auth.openapi.paths", what: "Overrides for single paths." },
  { path: "auth.cache", what: "A cache for results of `authenticate`." },
  { path: "auth.cache.cache_keys", what: "Headers that identify a caller, such as `authorization`." },
  { path: "auth.cache.ttl_seconds", what: "How long a result is cached, in seconds; 60 by default." },
  { path: "auth.cache.max_size", what: "Maximum number of cached results; 1000 by default." },
  {
    path: "auth.allow_langsmith_api_keys",
    what: "Whether LangSmith API keys are accepted.",
    ignored: "this has no effect: this server does not check keys with LangSmith",
  },
  { path: "webhooks", what: "HTTP calls at the end of runs: [webhooks](webhooks.md)." },
  { path: "webhooks.env_prefix", what: "Prefix of the variables that headers may use; `LG_WEBHOOK_` by default." },
  {
    path: "webhooks.headers",
    what: "Headers of each call. A dollar sign followed by `{{ env.NAME }}` inserts a variable.",
  },
  { path: "webhooks.url", what: "Rules for URLs." },
  { path: "webhooks.url.allowed_domains", what: "Allowed domains; `*.example.com` includes all subdomains." },
  { path: "webhooks.url.allowed_ports", what: "Allowed ports." },
  { path: "webhooks.url.require_https", what: "Whether only `https` is allowed." },
  {
    path: "webhooks.url.disable_loopback",
    what: "Whether loopback addresses and paths of this server are rejected; by default `false` in `superstep dev`, else `true`.",
  },
  { path: "webhooks.url.max_url_length", what: "Maximum length of a URL." },
  {
    path: "encryption",
    what: "Encryption of stored data.",
    ignored: "this has no effect: encrypt the disk of the database",
  },
  { path: "encryption.path", what: "Handlers that encrypt and decrypt." },
  { path: "ui", what: "React components of agents: the source file by the agent's name." },
  { path: "ui_config", what: "Settings of the build of UI components." },
  { path: "ui_config.shared", what: "Modules that the components share with the page." },
  {
    path: "api_version",
    what: "Version of LangGraph's server.",
    ignored: "this has no effect: the installed version of Superstep decides",
  },
  { path: "base_image", what: "Base image of the container.", ignored: noImage },
  { path: "image_distro", what: "Linux distribution of the container.", ignored: noImage },
  { path: "dockerfile_lines", what: "Additional lines of the Dockerfile.", ignored: noImage },
  { path: "docker_compose_file", what: "A Docker Compose file with more services.", ignored: noImage },
  {
    path: "node_loader",
    what: "Loader of TypeScript files.",
    ignored: "this has no effect: TypeScript is loaded by tsx",
  },
  { path: "pip_config_file", what: "File with settings of pip for the build of a deployment." },
  {
    path: "pip_installer",
    what: "What installs Python packages in a build: `auto` (uv if the machine has it, else pip), `pip` or `uv`.",
  },
  { path: "keep_pkg_tools", what: "Whether pip and similar tools stay in the image.", ignored: noImage },
  { path: "source", what: '`{"kind": "uv", "root", "package"}`: a build installs this package of a workspace of uv.' },
  { path: "$schema", what: "The JSON Schema with which editors validate the file." },
]

function headerFields(path: string): Field[] {
  return [
    {
      path: `${path}.includes`,
      what: "Names or globs to include. Globs never match credentials, which must be named in full.",
    },
    { path: `${path}.excludes`, what: "Names or globs to exclude." },
    { path: `${path}.include`, what: "The same as `includes`." },
    { path: `${path}.exclude`, what: "The same as `excludes`." },
  ]
}
