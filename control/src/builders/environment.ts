/**
 * The environment of a build, made from nothing: install scripts are other people's code, so no secret of the
 * platform and none of the deployment is in it. What an operator set to get out of a closed network is passed on.
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

// Where packages come from and how to get there, tokens for a registry included. Others, such as `npm_config_prefix`
// or `npm_config_cache`, point into the operator's own folders: `npm start` sets them for its children.
const registrySetting =
  /^npm_config_(registry|cafile|ca|strict[_-]ssl|https?[_-]proxy|proxy|noproxy|maxsockets|fetch[_-].*|prefer[_-]offline|offline|legacy[_-]peer[_-]deps|\/\/.*|@.*)$/i

/**
 * @param home   an empty folder that only this build uses
 * @param cache  of package managers; kept from build to build of one deployment
 */
export function buildEnvironment(input: {
  readonly base: NodeJS.ProcessEnv
  readonly execPath: string
  readonly home: string
  readonly cache: string
}): Record<string, string> {
  const { base, execPath, home, cache } = input
  const inherited = Object.entries(base).filter(
    ([name, value]) => value !== undefined && (networkNames.includes(name) || registrySetting.test(name)),
  ) as [string, string][]
  return {
    ...Object.fromEntries(inherited),
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
    NO_COLOR: "1",
  }
}
