/** A JSON value. An integer that a double cannot hold exactly is a bigint. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [key: string]: Json };
