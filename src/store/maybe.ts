/** A value, or a promise of it. A promise is made only if something has to be waited for. */
export type Maybe<Value> = Value | Promise<Value>;

/** Calls `goOn` at once with a value, or when the promise resolves. */
export function whenKnown<Value, Next>(value: Maybe<Value>, goOn: (value: Value) => Maybe<Next>): Maybe<Next> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}
