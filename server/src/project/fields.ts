/**
 * Every field of `langgraph.json`: what it does here, or why it does nothing. A project that sets one which does nothing
 * is told so when it starts; docs/langgraph-json.md is printed from this table.
 */

export interface Field {
  /** From the top of the file; `*` is any name. */
  readonly path: string
  /** What it does, in a sentence. */
  readonly what: string
  /** Why it does nothing, as the end of a warning. */
  readonly ignored?: string
}

const noImage = "this has no effect: no container image is built, a project runs in processes of this machine"

export const fields: readonly Field[] = [
  { path: "graphs", what: "The graphs by their ids: `path:export`, or an object. At least one." },
  {
    path: "graphs.*.path",
    what: "`./src/graph.ts:graph` or `./graph.py:graph`: a compiled graph, a builder or a factory.",
  },
  { path: "graphs.*.description", what: "What the graph is for, in a sentence; assistants and tools show it." },
  {
    path: "env",
    what: "Environment of the graphs' code: an object, the path of a `.env` file, or a list of names to take over.",
  },
  {
    path: "dependencies",
    what: "Python packages and folders; those of Node are read from `package.json` and its lock file.",
  },
  { path: "node_version", what: "Major version of Node that a deployment is built and run with." },
  {
    path: "python_version",
    what: "Version of Python that the project wants.",
    ignored: "this has no effect: the project's .venv decides, or SUPERSTEP_PYTHON",
  },
  { path: "http", what: "How the server answers." },
  {
    path: "http.app",
    what: "`path:export` of a Hono app, or of anything with a `fetch`: it stands in front of the server's routes.",
  },
  { path: "http.cors", what: "Which web pages may call, and what they may see." },
  {
    path: "http.cors.allow_origins",
    what: "Origins whose pages may call; `*` is all. Default: `CORS_ALLOW_ORIGINS`, else all.",
  },
  {
    path: "http.cors.allow_origin_regex",
    what: "A pattern that the whole origin must match; it is used instead of the list.",
  },
  { path: "http.cors.allow_methods", what: "Methods that a preflight allows; all by default." },
  { path: "http.cors.allow_headers", what: "Headers that a preflight allows; by default those it asks for." },
  { path: "http.cors.allow_credentials", what: "Whether a page may send cookies; never when all origins may call." },
  {
    path: "http.cors.expose_headers",
    what: "Headers of a reply that a page may read, beside those that the SDKs need.",
  },
  { path: "http.cors.max_age", what: "How long a browser may keep the answer to a preflight, in seconds." },
  {
    path: "http.configurable_headers",
    what: "Request headers that a graph reads as `config.configurable`; none by default.",
  },
  ...headerFields("http.configurable_headers"),
  { path: "http.configurable-headers", what: "The same, older spelling." },
  ...headerFields("http.configurable-headers"),
  { path: "http.logging_headers", what: "Request headers that the log shows; none by default." },
  ...headerFields("http.logging_headers"),
  { path: "http.logging-headers", what: "The same, older spelling." },
  ...headerFields("http.logging-headers"),
  { path: "http.disable_assistants", what: "`true`: `/assistants` is not there." },
  { path: "http.disable_threads", what: "`true`: `/threads` is not there; runs on threads are." },
  { path: "http.disable_runs", what: "`true`: runs, crons, and the commands and streams of threads are not there." },
  { path: "http.disable_store", what: "`true`: `/store` is not there; graphs still have their store." },
  {
    path: "http.disable_meta",
    what: "`true`: `/`, `/info`, `/metrics`, `/docs` and `/openapi.json` are not there; `/ok` stays.",
  },
  { path: "http.disable_ui", what: "`true`: `/ui` is not there." },
  { path: "http.disable_mcp", what: "`true`: `/mcp` is not there." },
  { path: "http.disable_a2a", what: "`true`: `/a2a` is not there." },
  { path: "http.disable_webhooks", what: "`true`: no webhook is called." },
  {
    path: "http.enable_custom_route_auth",
    what: "`true`: every request is authenticated before the app sees it. Default: the server's own routes are.",
  },
  {
    path: "http.middleware_order",
    what: "`auth_first`: as `enable_custom_route_auth`. Default `middleware_first`: the app sees a request first.",
  },
  {
    path: "http.mount_prefix",
    what: "A path such as `/agents` below which all routes are; `/ok` stays at the root. Default: `MOUNT_PREFIX`.",
  },
  { path: "store", what: "The long-term memory." },
  { path: "store.index", what: "Semantic search in the store: a search with a `query` finds the nearest items." },
  { path: "store.index.dims", what: "How many numbers an embedding has." },
  {
    path: "store.index.embed",
    what: "`path:function` from texts to vectors, or `provider:model` of a LangChain package that the project has.",
  },
  { path: "store.index.fields", what: "Which fields of a value are embedded; `$`, the whole, by default." },
  { path: "store.ttl", what: "How long items live." },
  { path: "store.ttl.refresh_on_read", what: "Whether reading an item begins its time anew; `true` by default." },
  { path: "store.ttl.default_ttl", what: "Life of an item that names none, in minutes; for ever by default." },
  {
    path: "store.ttl.sweep_interval_minutes",
    what: "How often items whose time is over are deleted; they are not found before that either.",
  },
  { path: "checkpointer", what: "The saved states of threads." },
  {
    path: "checkpointer.backend",
    what: "Where checkpoints are.",
    ignored: "this has no effect: checkpoints are in the server's Postgres",
  },
  {
    path: "checkpointer.path",
    what: "A checkpointer of the project's own.",
    ignored: "this has no effect: checkpoints are in the server's Postgres",
  },
  { path: "checkpointer.ttl", what: "How long new threads live." },
  { path: "checkpointer.ttl.strategy", what: "`delete` the thread, or `keep_latest` of its checkpoints." },
  { path: "checkpointer.ttl.default_ttl", what: "Life of a thread that names none, in minutes; for ever by default." },
  {
    path: "checkpointer.ttl.sweep_interval_minutes",
    what: "How often threads whose time is over are looked for; 5 by default.",
  },
  { path: "checkpointer.ttl.sweep_limit", what: "How many are swept at a time; 1000 by default." },
  {
    path: "checkpointer.serde",
    what: "What may be read from a pickle.",
    ignored: "this has no effect: checkpoints are never pickled",
  },
  { path: "auth", what: "Who may call and what they may see." },
  {
    path: "auth.path",
    what: "`path:export` of an `Auth` of `@langchain/langgraph-sdk/auth`, in TypeScript or JavaScript.",
  },
  { path: "auth.disable_studio_auth", what: "`true`: in development, too, the Studio header is nothing special." },
  { path: "auth.openapi", what: "What `/openapi.json` says about authentication." },
  { path: "auth.openapi.securitySchemes", what: "The ways to authenticate." },
  { path: "auth.openapi.security", what: "Which of them a request needs." },
  { path: "auth.openapi.paths", what: "The same for single paths." },
  { path: "auth.cache", what: "Keeps answers of `authenticate` for a while." },
  { path: "auth.cache.cache_keys", what: "Headers that tell one caller from another, such as `authorization`." },
  { path: "auth.cache.ttl_seconds", what: "How long an answer is kept, in seconds; 60 unless told." },
  { path: "auth.cache.max_size", what: "How many answers are kept; 1000 unless told." },
  {
    path: "auth.allow_langsmith_api_keys",
    what: "LangSmith keys beside the project's rules.",
    ignored: "this has no effect: this server asks no LangSmith",
  },
  { path: "webhooks", what: "Calls to other servers at the end of runs: [webhooks](webhooks.md)." },
  { path: "webhooks.env_prefix", what: "Which variables headers may name; `LG_WEBHOOK_` by default." },
  { path: "webhooks.headers", what: "Headers of each call; a variable stands as `{{ env.NAME }}` after a dollar." },
  { path: "webhooks.url", what: "Which addresses may be called." },
  { path: "webhooks.url.allowed_domains", what: "Domains, with `*.` for those below." },
  { path: "webhooks.url.allowed_ports", what: "Ports." },
  { path: "webhooks.url.require_https", what: "Whether only `https` may be." },
  {
    path: "webhooks.url.disable_loopback",
    what: "Whether this machine and paths of this server may not be; `false` only in `superstep dev`, else `true`.",
  },
  { path: "webhooks.url.max_url_length", what: "Longest address." },
  {
    path: "encryption",
    what: "Encryption of what is stored.",
    ignored: "this has no effect: encrypt the disk of the database",
  },
  { path: "encryption.path", what: "Its handlers." },
  { path: "ui", what: "React components that an agent shows: a source file by the agent's name." },
  { path: "ui_config", what: "How they are built." },
  { path: "ui_config.shared", what: "Modules that they share with the page." },
  {
    path: "api_version",
    what: "Version of LangGraph's server.",
    ignored: "this has no effect: the installed Superstep is the version",
  },
  { path: "base_image", what: "Image to build on.", ignored: noImage },
  { path: "image_distro", what: "Its Linux.", ignored: noImage },
  { path: "dockerfile_lines", what: "What its Dockerfile says beside.", ignored: noImage },
  { path: "docker_compose_file", what: "Services beside it.", ignored: noImage },
  { path: "node_loader", what: "What loads TypeScript.", ignored: "this has no effect: TypeScript is loaded by tsx" },
  { path: "pip_config_file", what: "Settings of pip.", ignored: noImage },
  { path: "pip_installer", what: "What installs Python packages.", ignored: noImage },
  { path: "keep_pkg_tools", what: "Whether pip stays in the image.", ignored: noImage },
  { path: "source", what: "Where the sources of a build are.", ignored: noImage },
  { path: "$schema", what: "The schema that an editor checks the file with." },
]

function headerFields(path: string): Field[] {
  return [
    { path: `${path}.includes`, what: "Names or globs; `*` takes no credential, which must be named." },
    { path: `${path}.excludes`, what: "Names or globs that are not taken all the same." },
    { path: `${path}.include`, what: "The same as `includes`." },
    { path: `${path}.exclude`, what: "The same as `excludes`." },
  ]
}
