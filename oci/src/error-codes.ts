/** The error codes of images and registries, as `docs/errors.md` explains them. */
import type { ErrorEntry } from "@superstep/toolkit/errors/error-entry"

export const imageCodes = {
  registry_failed: {
    http: [],
    what: "An image registry refused a request, or does not answer.",
    cause: "The registry is away, or the repository does not exist there.",
    next: "Check the address of `SUPERSTEP_REGISTRY` and that this machine reaches it; the message has its text.",
  },
  unusable_login: {
    http: [],
    what: "The file with logins of registries cannot be used.",
    cause: "It is not in the form of `docker login`, or a helper program keeps the password elsewhere.",
    next: "Write user and password into the file, for example with `docker login` without a helper.",
  },
  damaged_blob: {
    http: [],
    what: "A part of an image arrived with another content than its digest says. The platform tries again.",
    cause: "A broken connection, or a proxy that changes answers.",
    next: "If it repeats, go around the proxy between this machine and the registry.",
  },
  unusable_archive: {
    http: [],
    what: "An exported image cannot be read.",
    cause: "The engine exports another form, or the file is not complete.",
    next: "Export one image with a current engine.",
  },
  unusable_tree: {
    http: [],
    what: "The built project has something that an image cannot hold, or was changed while it was read.",
    cause: "Sockets, devices or pipes in the project; a process that writes after the build.",
    next: "Remove what the message names, then build again.",
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>

export type ImageCodes = typeof imageCodes

declare module "@superstep/toolkit/errors/codes" {
  interface ErrorCodes extends ImageCodes {}
}
