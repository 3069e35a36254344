/** Worlds in which an earlier planner, or an earlier idea of what is provable, was wrong. */
import type { Step, Tool } from './model.js';

export interface Scene {
  readonly first: Tool;
  readonly steps: readonly Step[];
  /** Objects that are lost, that lost their manifest, and that are excluded, as indexes. */
  readonly lost: readonly number[];
  readonly bare: readonly number[];
  readonly excluded: readonly number[];
}

const write = (count = 1): Step => ({ do: 'write', count, secs: 0 });
const cut = (writer = 0): Step => ({ do: 'delta', writer });
const full = (writer = 0, during = 0): Step => ({ do: 'full', writer, during, secs: 0 });
const join = (tool: Tool, early = 0): Step => ({ do: 'join', tool, early, clock: 0 });
const back = (steps: number, idle = 0, tool: Tool = 'ours', declared = false): Step => ({
  ...{ do: 'rollback', back: steps, declared, tool, idle },
  ...{ long: tool === 'go', compare: false },
});

function scene(steps: Step[], rest: Partial<Scene> = {}): Scene {
  return { first: 'ours', steps, lost: [], bare: [], excluded: [], ...rest };
}

export const FOUND: readonly Scene[] = [
  // Put back and backed up right there: the full alone is a state of the old history, too.
  scene([back(1)]),
  scene([back(1), back(1, 4)]),
  // A delta whose manifest names a full that may be of either timeline was kept, and joined two histories.
  scene([back(1, 0, 'go'), join('ours', 1), cut(), write(), cut(1), cut()], { bare: [2] }),
  scene([back(1, 0, 'go'), join('ours', 1), cut(), write(), cut(1), cut(), back(1)], { bare: [9] }),
  // Two timelines that both agree with a third, short one were taken for one.
  scene([full(), back(1), full(), back(1), full(0, 1), cut(), back(1), full(0, 1), cut()], {
    excluded: [16],
  }),
  scene([join('ours'), back(1), write(), cut(), back(1, 3), write(), cut(), back(1), join('ours')], {
    ...{ lost: [27], excluded: [28, 37] },
  }),
  // The tie of two fulls in one second.
  scene([back(1), join('ours'), back(1), join('go'), full(), write(), cut()], { lost: [33, 13] }),
  // An unread full of the old timeline ends exactly where the new one begins.
  scene([full(), back(1), full(0, 4), cut(), join('go', 3), back(8, 8), write(), cut()], { excluded: [38] }),
  // A branch that was excluded still superseded, or did not, what it had been restored from.
  scene([write(), cut(), back(1, 3), write(), cut(), back(1, 0, 'ours', true), back(1)], {
    excluded: [40, 14],
  }),
  scene([full(), full(), full(), join('ours'), back(1, 3), full(0, 1), back(1, 0, 'ours', true)], {
    ...{ lost: [6], excluded: [5, 7] },
  }),
  // The first objects after a restore are lost, or have lost their manifests.
  scene([write(), cut(), back(1, 1, 'ours', true), join('go'), full(0, 1), cut(), back(1)], {
    ...{ lost: [37, 0, 1], bare: [11] },
  }),
  scene([write(), back(1, 0, 'ours', true), write(), cut(), full(), full(0, 1), cut()], {
    ...{ lost: [0, 19], bare: [21], excluded: [10] },
  }),
];
