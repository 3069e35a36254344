/** Entry of the fetch workers; what they do is in `task.ts`. Stores stay open as long as their worker lives. */
import { openStore } from '../store/open-store.js';
import type { StoreSettings } from '../store/registry.js';
import type { Store } from '../store/store.js';
import { type FetchAnswer, type FetchTask, runTask } from './task.js';

const opened = new Map<string, Promise<Store>>();

export default function work(task: FetchTask): Promise<FetchAnswer> {
  return runTask(openOnce, task);
}

function openOnce(settings: StoreSettings): Promise<Store> {
  const key = JSON.stringify(settings);
  const store = opened.get(key) ?? openStore(settings);
  opened.set(key, store);
  store.catch(() => opened.delete(key));
  return store;
}
