/** Operations on runs with the caller of a server without access rules. */
import { anyone } from "../auth/caller.js"
import * as creation from "../runs/creation.js"
import * as operations from "../runs/operations.js"

const asAnyone =
  <Parts, Request extends object, Result>(operation: (parts: Parts, request: Request) => Promise<Result>) =>
  (parts: Parts, request: Omit<Request, "caller">): Promise<Result> =>
    operation(parts, { caller: anyone, ...request } as unknown as Request)

export const createRun = asAnyone(creation.createRun)
export const getRun = asAnyone(operations.getRun)
export const joinRun = asAnyone(operations.joinRun)
export const cancelRun = asAnyone(operations.cancelRun)
export { waitForEnd } from "../runs/operations.js"
