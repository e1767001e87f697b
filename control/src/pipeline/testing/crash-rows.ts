/** Where tests kill the control plane while a revision is deployed: the named points of crash-points.ts. */

/** Each revision dies at all points of its row, one after the other; two deaths in one stage are allowed. The first row has a point of each stage. */
export const pointsOfRevisions: readonly (readonly string[])[] = [
  [
    "fetch:after-tree",
    "build:after-publish",
    "unit:after-spawn",
    "switch:after-activate",
    "table:after-row",
    "verify:before-advance",
    "watch:after-end",
    "unit:after-remove",
  ],
  ["queue:begin", "fetch:after-resolve", "build:after-start", "deploy:after-unit-row", "switch:before-push"],
  ["queue:after-provision", "fetch:after-fetch", "build:after-artifact-row", "deploy:after-start", "switch:after-push"],
  ["queue:after-advance", "build:begin", "build:before-advance", "switch:begin", "switch:after-commit"],
  ["fetch:begin", "fetch:after-advance", "build:after-advance", "deploy:begin", "deploy:after-advance"],
  ["switch:after-advance", "verify:begin", "verify:after-advance", "unit:after-stop"],
]
