/** How exactly a wished time was met, in one line. */
import { isoTime } from '../base/iso-time.js';
import type { Moment, Stand } from '../snapshot/at-time.js';

export function momentLine({ timeMs, reached, next, unknown, setBackMs }: Moment): string {
  const of = `The state at ${isoTime(timeMs)} is revision ${reached.revision}, ${standText(reached)}`;
  const then =
    next === undefined
      ? 'nothing in the store is later, so it is the newest'
      : `next is revision ${next.revision}, ${standText(next)}`;
  const gap =
    unknown === undefined
      ? ''
      : `. NOT EXACT: when revisions ${unknown.from}-${unknown.to} were written is in no object; the state at that time is one of ${reached.revision}-${unknown.to}`;
  const clock =
    setBackMs === 0
      ? ''
      : `. The clock was set back by ${setBackMs} ms in between: the first event that arrived later ends the state`;
  return `${of}; ${then}${gap}${clock}.`;
}

function standText({ by, atMs }: Stand): string {
  return by === 'event' ? `which arrived at ${isoTime(atMs)}` : `in an object of ${isoTime(atMs)}`;
}
