/**
 * Where the files of a release come from: an in-toto statement with SLSA's provenance predicate. It is not signed, so it proves nothing to
 * somebody who does not trust the place it was read from; a signature belongs around it (a DSSE envelope) once the project has a key.
 */

/**
 * @param subjects  the files: name and SHA-256
 * @param base      the digest of the image's base, if there is an image
 * @param versions  of the programs that the bytes depend on
 * @returns         the statement. It has no times: the same commit gives the same statement
 * @see             SLSA 1.0, "Provenance"
 */
export const provenanceOf = ({ version, commit, changed, snapshot, subjects, base, versions }) => ({
  _type: "https://in-toto.io/Statement/v1",
  subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
  predicateType: "https://slsa.dev/provenance/v1",
  predicate: {
    buildDefinition: {
      buildType: "urn:superstep:packages:1",
      externalParameters: { tag: snapshot ? null : `v${version}`, snapshot },
      internalParameters: {
        changedFiles: changed.length,
        platform: `${process.platform}-${process.arch}`,
        ...versions,
      },
      resolvedDependencies: [
        { name: "source", digest: { gitCommit: commit } },
        ...(base === undefined ? [] : [{ name: "base image", digest: { sha256: base.replace("sha256:", "") } }]),
      ],
    },
    // Whoever ran the command: only a signature can say more.
    runDetails: { builder: { id: "urn:superstep:builder:local" } },
  },
})
