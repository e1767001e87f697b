/**
 * The environment of a build, made from nothing: install scripts are other people's code, so it contains no secret of the
 * platform or of the deployment. An operator's settings for proxies and registries are passed on.
 */
import { delimiter, dirname, join } from "node:path"

const networkNames = [
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
]

// Settings for registries and the network, registry tokens included. Others, such as `npm_config_prefix` or
// `npm_config_cache`, point into the operator's own folders: `npm start` sets them for its children.
const registrySetting =
  /^npm_config_(registry|cafile|ca|strict[_-]ssl|https?[_-]proxy|proxy|noproxy|maxsockets|fetch[_-].*|prefer[_-]offline|offline|legacy[_-]peer[_-]deps|\/\/.*|@.*)$/i

// The same for pip and uv.
const pythonSetting =
  /^(PIP|UV)_(INDEX|INDEX_URL|EXTRA_INDEX_URL|DEFAULT_INDEX|FIND_LINKS|NO_INDEX|CERT|TRUSTED_HOST|INSECURE_HOST|PROXY|DEFAULT_TIMEOUT|HTTP_TIMEOUT|RETRIES|NATIVE_TLS|SYSTEM_CERTS|OFFLINE)$/

/** What builds get of the environment of the control plane: how to reach the network, and registries of packages. */
export function networkSettingsOf(base: NodeJS.ProcessEnv): Record<string, string> {
  const found = Object.entries(base).filter(
    ([name, value]) =>
      value !== undefined && (networkNames.includes(name) || registrySetting.test(name) || pythonSetting.test(name)),
  ) as [string, string][]
  return Object.fromEntries(found)
}

/**
 * @param home   an empty folder that only this build uses
 * @param cache  folder for package managers, kept for the next builds of the deployment
 */
export function buildEnvironment(input: {
  readonly base: NodeJS.ProcessEnv
  readonly execPath: string
  readonly home: string
  readonly cache: string
}): Record<string, string> {
  const { base, execPath, home, cache } = input
  return {
    ...networkSettingsOf(base),
    PATH: [dirname(execPath), base.PATH ?? "/usr/local/bin:/usr/bin:/bin"].join(delimiter),
    HOME: home,
    TMPDIR: join(home, "tmp"),
    LANG: base.LANG ?? "C.UTF-8",
    CI: "1",
    npm_config_cache: join(cache, "npm"),
    npm_config_update_notifier: "false",
    XDG_DATA_HOME: join(cache, "data"),
    YARN_CACHE_FOLDER: join(cache, "yarn"),
    BUN_INSTALL_CACHE_DIR: join(cache, "bun"),
    XDG_CACHE_HOME: cache,
    PIP_CACHE_DIR: join(cache, "pip"),
    PIP_DISABLE_PIP_VERSION_CHECK: "1",
    PIP_NO_INPUT: "1",
    UV_CACHE_DIR: join(cache, "uv"),
    // Hard links would share files between the cache, which builds may write to, and artifacts.
    UV_LINK_MODE: "copy",
    UV_COMPILE_BYTECODE: "1",
    UV_NO_PROGRESS: "1",
    // Pythons are chosen before: one that a build downloads would be in its own folder.
    UV_PYTHON_DOWNLOADS: "never",
    NO_COLOR: "1",
  }
}
