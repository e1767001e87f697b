/** Tests commit another value to see which revision answers. */
export const version = "v1"
