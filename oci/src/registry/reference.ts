/** Names of images in registries: `images.example.com:5000/team/agent:v1`. Pure. */
import { InvalidInput } from "@superstep/toolkit/errors/errors"

export interface Reference {
  /** Name and port. */
  readonly host: string
  readonly repository: string
  /** A tag, or a digest. */
  readonly version: string
}

const pattern =
  /^((?:[a-z0-9]+(?:[._-]+[a-z0-9]+)*\/)*[a-z0-9]+(?:[._-]+[a-z0-9]+)*)(?::([\w][\w.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$/
// What engines assume where a name begins with no host.
const defaultHost = "registry-1.docker.io"

/**
 * @param text  as engines write it; without a host it is Docker Hub's
 * @throws InvalidInput
 */
export function parseReference(text: string): Reference {
  const [first = "", ...rest] = text.split("/")
  const hasHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost")
  const [, path, tag, digest] = pattern.exec(hasHost ? rest.join("/") : text) ?? []
  if (path === undefined)
    throw new InvalidInput(`${text} is no name of an image: expected one such as images.example.com/team/agent:v1`)
  const repository = !hasHost && !path.includes("/") ? `library/${path}` : path
  return { host: hasHost ? first : defaultHost, repository, version: digest ?? tag ?? "latest" }
}

/** A registry on this computer speaks HTTP, as engines assume too. */
export const originOf = ({ host }: Pick<Reference, "host">): string =>
  /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/.test(host) ? `http://${host}` : `https://${host}`
