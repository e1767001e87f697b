/** Variables of Superstep itself. A project or a deployment cannot set them for its agent server. Pure. */

// Operators set one for all deployments, and a deployment its own.
const signingSecret = "SUPERSTEP_WEBHOOK_SIGNING_SECRET"

/** A setting of Superstep itself, which only the operator sets. */
export const isPlatformSetting = (name: string): boolean => name.startsWith("SUPERSTEP_") && name !== signingSecret
