import { type Door, type DoorOptions, openDoor } from "../../src/link/http/door.ts";
import { expectGuests } from "../../src/link/http/guests.ts";
import { replyEmpty } from "../../src/link/http/reply.ts";

/** Opens a door on this machine that answers everything with 202, unless it is told otherwise. */
export function openTestDoor(options: Partial<DoorOptions> = {}): Promise<Door> {
  return openDoor({
    host: "127.0.0.1",
    port: 0,
    tls: null,
    guests: expectGuests("127.0.0.1", [], []),
    gate: null,
    identityHeader: null,
    isOpen: () => false,
    metadataUrl: () => "",
    without: new Set(),
    isReady: () => true,
    onVisit: ({ response }) => replyEmpty(response, 202, []),
    onTrouble: () => {},
    maxConnections: 100,
    ...options,
  });
}
