/** A message that was not sent goes back to where it was written, before what was typed since. Pure. */
export const putBackText = (unsent: string, typedSince: string): string =>
  typedSince.trim() === "" ? unsent : [unsent, typedSince].filter((text) => text.trim() !== "").join("\n")
