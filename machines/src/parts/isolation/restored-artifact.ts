/** Restored files of a deployment, which has another number in this installation. */

import { readableBy } from "@superstep/toolkit/files/own-tree"
import { isolatedUser } from "./isolation.js"

/** Makes an artifact readable for the deployment's user, where root gives each deployment one. */
export function regroupTree(artifactFolder: string, deploymentNumber: number): void {
  if (process.getuid?.() === 0) readableBy(artifactFolder, isolatedUser(deploymentNumber))
}
