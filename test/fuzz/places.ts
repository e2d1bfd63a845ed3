import { createModel, type Direction, type Model } from "./model.ts";
import { createRig, type Plant, prologue, type Rig, type Spoken, WORLD } from "./rig.ts";

/** A conversation just after its prologue: twice, to be cut in two ways, and as the model has it. */
export interface Place {
  readonly whole: Rig;
  readonly pieces: Rig;
  readonly model: Model;
}

/**
 * Brings conversations to the place where mutants are thrown in. One that was left by a mutant is
 * led back where that is possible: a new one costs as much as a dozen mutants.
 */
export function createPlaces(plant: Plant | undefined): (direction: Direction, revision: string | null) => Place {
  const places = new Map<string, { place: Place; begin: Model }>();
  return (direction, revision) => {
    const key = `${direction} ${revision}`;
    const used = places.get(key);
    if (used !== undefined && leadBack(used.place, used.begin, prologue(direction, revision))) return used.place;
    const begin = used?.begin ?? createBeginning(direction, revision);
    const [whole, pieces] = [createRig(direction, revision, plant), createRig(direction, revision, plant)];
    const place = { whole, pieces, model: begin.fork() };
    places.set(key, { place, begin });
    return place;
  };
}

function createBeginning(direction: Direction, revision: string | null): Model {
  const model = createModel(WORLD);
  for (const { line, direction: way } of prologue(direction, revision)) model.expect(line.subarray(0, -1), way);
  return model;
}

/** Answers what was asked since the beginning, and asks again what was answered. False where that is not enough. */
function leadBack(place: Place, begin: Model, said: readonly Spoken[]): boolean {
  const { model, whole, pieces } = place;
  if (model.isLike(begin)) return true;
  const say = (line: Buffer, direction: Direction): void => {
    model.expect(line.subarray(0, -1), direction);
    for (const rig of [whole, pieces]) void rig.feed(line, direction);
  };
  for (const way of WAYS) {
    for (const [key, { plain }] of model.waiting(way)) {
      if (begin.waiting(way).has(key)) continue;
      const id = JSON.stringify(plain);
      say(Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":{"code":0,"message":""}}\n`), way === "up" ? "down" : "up");
    }
    const gone = [...begin.waiting(way).keys()].filter((key) => !model.waiting(way).has(key));
    for (const key of gone) {
      const asked = said.find(({ line }) => (JSON.parse(line.toString()) as { id?: unknown }).id === key);
      if (asked !== undefined) say(asked.line, way);
    }
  }
  return model.isLike(begin);
}

const WAYS: readonly Direction[] = ["up", "down"];
