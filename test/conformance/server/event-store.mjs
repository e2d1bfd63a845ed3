/**
 * The events of one session, so that a stream can be taken up again where it broke. Ids count from 1 in every
 * session: two sessions use the same ones, and whoever mixes up sessions is found out.
 */
export function createEventStore() {
  const events = [];

  return {
    async storeEvent(streamId, message) {
      events.push({ streamId, message });
      return String(events.length);
    },

    async replayEventsAfter(lastEventId, { send }) {
      const last = Number(lastEventId);
      const { streamId } = events[last - 1];
      for (let index = last; index < events.length; index += 1) {
        const event = events[index];
        // A priming event is stored as an empty message; it is not one to send again.
        if (event.streamId !== streamId || Object.keys(event.message).length === 0) continue;
        await send(String(index + 1), event.message);
      }
      return streamId;
    },
  };
}
