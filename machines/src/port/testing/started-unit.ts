import { until } from "@superstep/toolkit/testing/until"
import { askStatus } from "../../unit-client/unit-client.js"
import type { UnitSpec, Units } from "../port.js"
import { unitSpec } from "./unit-spec.js"

/** Starts a unit of the place's artifact, which answers. @param change  what a test says of it itself */
export async function startedUnit(
  place: { units(): Units; readonly artifactId?: string },
  { artifactId = place.artifactId ?? "an-artifact", ...change }: Partial<UnitSpec> = {},
) {
  const units = place.units()
  const unit = unitSpec({ artifactId, ...change })
  const { unitId } = unit
  const addressOf = (address = units.address(unitId)) => ({ address, token: unit.token })
  const answers = () => until(() => askStatus(addressOf()), { what: "the unit answers" })
  const end = async (graceMs = 0) => {
    await units.stop(unitId, { graceMs })
    await units.remove(unitId)
  }
  await units.start(unit)
  await answers()
  return { units, unit, unitId, addressOf, answers, end }
}
