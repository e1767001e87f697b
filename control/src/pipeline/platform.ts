/** What compiled packages depend on: an artefact runs only where this is the same. */
export const platform = `node ${process.version} ${process.platform} ${process.arch}`
