/**
 * Files that hold secrets, by their usual names. Archives leave out those of `.env`, whose values the CLIs send as secrets; a build may need
 * others of them, such as a certificate. Whoever shows code shows the content of none. Pure.
 */

// Examples contain no secrets.
const example = /\.(example|sample|template|dist)$/i

/** `.env`, `.env.local` …, not `.env.example`. */
export const isEnvFile = (path: string): boolean => {
  const name = nameOf(path)
  return name === ".env" || (name.startsWith(".env.") && !example.test(name))
}

// What tools keep credentials and keys in.
const names: readonly RegExp[] = [
  /^\.env(\..+)?$|\.env$|^\.envrc$/,
  /^\.(npmrc|yarnrc(\.yml)?|pypirc|netrc|pgpass|git-credentials|htpasswd)$|^\.docker(cfg|configjson)$/,
  /^(id_(rsa|dsa|ecdsa|ed25519)|.*\.(pem|key|p12|pfx|jks|keystore|ppk))$/,
  /^(credentials(\.json)?|secrets?\.(json|ya?ml|toml)|service[-_]account.*\.json)$/,
  /(^|\.)kubeconfig$|\.tfvars(\.json)?$|\.tfstate(\.backup)?$/,
]
// Names that say something only in their folder.
const paths = /(^|\/)(\.docker\/config\.json|\.kube\/config)$/

/** Whether a file with this path holds secrets, so that its content is never shown. */
export function isSecretFile(path: string): boolean {
  const lower = path.toLowerCase()
  const name = nameOf(lower)
  return paths.test(lower) || (names.some((pattern) => pattern.test(name)) && !example.test(name))
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1)
