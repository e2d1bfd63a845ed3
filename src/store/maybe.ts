/** A value that is there now, or that comes later. Where it is there now, no promise is made for it. */
export type Maybe<Value> = Value | Promise<Value>;

/** Goes on with a value at once where it is there, and when it comes where it is not. */
export function whenKnown<Value, Next>(value: Maybe<Value>, goOn: (value: Value) => Maybe<Next>): Maybe<Next> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}
